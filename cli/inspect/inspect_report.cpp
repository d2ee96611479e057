// See inspect_report.h.
#include "cli/inspect/inspect_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;

/// Facts under one label take a line each; the label stands at the first.
void add_tensors(Table& facts, const std::string& label, const core::Graph& graph,
                 std::span<const core::TensorId> tensors) {
  std::string shown = label;
  for (core::TensorId id : tensors) {
    facts.add_row({shown, jobs::tensor_text(graph, id)});
    shown.clear();
  }
}

std::string node_text(const jobs::GraphSummary& summary) {
  std::string text = grouped(summary.nodes);
  if (summary.folded > 0) text += fmt::format(", {} folded when loaded", summary.folded);
  if (summary.views > 0) text += ", " + counted(summary.views, "free view");
  return text;
}

std::string peak_text(const jobs::GraphSummary& summary) {
  return summary.peak_activation_bytes ? bytes_text(*summary.peak_activation_bytes)
                                       : "not known: a size is open";
}

std::string operator_table(const jobs::GraphSummary& summary) {
  Table table(
      {{"operator"}, {"nodes", Align::kRight}, {"flop", Align::kRight}, {"share", Align::kRight}});
  for (const jobs::OperatorCount& op : summary.operators) {
    const double share = summary.flops > 0 ? op.flops / summary.flops : 0;
    table.add_row({op.name, grouped(op.nodes), count_text(op.flops), percent_text(share)});
  }
  return table.to_string();
}

std::string opaque_table(const models::OnnxModel& model) {
  Table table({{"kept as it is"}, {"operator"}, {"because"}});
  for (const models::OpaqueNode& node : model.opaque_nodes) {
    table.add_row({node.name, node.op_type, node.reason});
  }
  return table.to_string();
}

ordered_json tensors_json(const core::Graph& graph, std::span<const core::TensorId> tensors) {
  ordered_json list = ordered_json::array();
  for (core::TensorId id : tensors) {
    const core::TensorType& type = graph.tensor(id).type;
    const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
    list.push_back({{"name", graph.tensor(id).name},
                    {"type", core::to_string(type.data_type)},
                    {"shape", dims ? ordered_json(*dims) : ordered_json(nullptr)}});
  }
  return list;
}

}  // namespace

std::string summary_text(const jobs::InspectRequest& request, const jobs::InspectOutcome& outcome) {
  const auto& [model, summary] = outcome;
  Table facts({{""}, {""}});
  add_tensors(facts, "inputs", model.graph, model.graph.inputs());
  add_tensors(facts, "outputs", model.graph, model.graph.outputs());
  facts.add_row({"nodes", node_text(summary)});
  facts.add_row({"parameters", fmt::format("{} in {}, {}", count_text(summary.parameters),
                                           counted(summary.constants, "tensor"),
                                           bytes_text(summary.parameter_bytes))});
  facts.add_row(
      {"work", fmt::format("{}, {} moved", flops_text(summary.flops), bytes_text(summary.bytes))});
  facts.add_row({"launches", fmt::format("{}, with {} fusion", grouped(summary.launches),
                                         runtime::to_string(request.fusion))});
  facts.add_row({"activations", peak_text(summary) + " at the peak"});
  if (const auto& names = summary.specials_matter_in; !names.empty())
    facts.add_row({"NaN, infinity", fmt::format("matter in {}, the first is {}",
                                                counted(names.size(), "tensor"), names.front())});
  std::string text = fmt::format("{}  (opset {})\n\n{}\n{}", request.model, model.opset,
                                 facts.to_string(), operator_table(summary));
  if (!model.opaque_nodes.empty()) text += "\n" + opaque_table(model);
  return text;
}

std::string summary_json(const jobs::InspectRequest& request, const jobs::InspectOutcome& outcome) {
  const auto& [model, summary] = outcome;
  ordered_json json = {{"model", request.model}, {"opset", model.opset}};
  json["inputs"] = tensors_json(model.graph, model.graph.inputs());
  json["outputs"] = tensors_json(model.graph, model.graph.outputs());
  json["nodes"] = summary.nodes;
  json["folded_nodes"] = summary.folded;
  json["views"] = summary.views;
  json["operators"] = ordered_json::object();
  for (const jobs::OperatorCount& op : summary.operators) {
    json["operators"][op.name] = {{"nodes", op.nodes}, {"flops", op.flops}};
  }
  json["parameters"] = summary.parameters;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["flops"] = summary.flops;
  json["bytes_moved"] = summary.bytes;
  json["fusion"] = runtime::to_string(request.fusion);
  json["launches"] = summary.launches;
  const auto& peak = summary.peak_activation_bytes;
  json["peak_activation_bytes"] = peak ? ordered_json(*peak) : ordered_json(nullptr);
  json["specials_matter_in"] = summary.specials_matter_in;
  json["opaque_nodes"] = ordered_json::array();
  for (const models::OpaqueNode& node : model.opaque_nodes) {
    json["opaque_nodes"].push_back(
        {{"name", node.name}, {"operator", node.op_type}, {"reason", node.reason}});
  }
  return json_text(json);
}

}  // namespace soapstone::cli
