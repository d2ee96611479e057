#include "transforms/recognize/region_text.h"

#include <cmath>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {

using core::Graph;
using core::NodeId;
using core::TensorId;
namespace {

/// How far computed numbers may be from what they stand for.
constexpr double kNearlyWhole = 1e-6;

bool is_fill(const Graph& graph, TensorId id) {
  const NodeId producer = graph.tensor(id).producer;
  return producer.valid() && graph.node(producer).op->movement == core::Movement::kFill;
}

std::string literal_text(const core::Literal& literal) {
  return fmt::format("{{{}}}", static_cast<float>(literal.to_doubles()[0]));
}

}  // namespace

std::string text_of(double number) {
  const double whole = std::round(number);
  const bool is_whole = whole != 0 && std::abs(number - whole) < kNearlyWhole * std::abs(whole);
  return fmt::format("{}", static_cast<float>(is_whole ? whole : number));
}

RegionText::RegionText(const Graph& graph, TensorId x) : graph_(graph) {
  const core::TensorType& type = graph.tensor(x).type;
  names_.emplace(x, "x");
  head_ = fmt::format("  x: {}\n", declared(type, names_of(known_sizes(type.shape))));
}

std::string RegionText::input(TensorId id) {
  const auto known = names_.find(id);
  return known != names_.end() ? known->second : declare(id);
}

std::string RegionText::add(TensorId id) {
  if (!id.valid()) return "_";
  if (const auto known = names_.find(id); known != names_.end()) return known->second;
  if (graph_.is_constant_expression(id) && !is_fill(graph_, id)) return declare(id);
  const core::Node& node = graph_.node(graph_.tensor(id).producer);
  Names operands;
  for (const TensorId input : node.inputs) operands.push_back(add(input));
  // Equal nodes may be several in the graph.
  const Names results = source_.another(call_of(graph_, node, operands), node.outputs.size());
  for (std::size_t k = 0; k < results.size(); ++k) names_.emplace(node.outputs[k], results[k]);
  return names_.at(id);
}

std::string RegionText::declare(TensorId id) {
  const core::Tensor& tensor = graph_.tensor(id);
  const std::string name = fmt::format("c{}", names_.size());
  head_ += fmt::format(
      "  {}: {}{}\n", name, declared(tensor.type, names_of(known_sizes(tensor.type.shape))),
      tensor.value && number_of(graph_, id) ? " = " + literal_text(*tensor.value) : "");
  return names_.emplace(id, name).first->second;
}

std::string RegionText::rule(const std::string& name, const std::string& source_result,
                             const SideText& target, const std::string& target_result) const {
  return rule_text(name, head_, source_, {source_result}, target, {target_result});
}

}  // namespace soapstone::transforms
