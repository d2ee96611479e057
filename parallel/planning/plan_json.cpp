// Plans as JSON; docs/plans.md describes the format.
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "parallel/planning/plan_document.h"
#include "parallel/topology/json_reader.h"

namespace soapstone::parallel {
namespace {

using PlanJson = nlohmann::ordered_json;
using PlanReader = JsonReader<PlanJson>;

std::string hash_text_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t read_hash(const PlanReader& field) {
  const std::string text = field.text();
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, hash, 16);
  if (error != std::errc() || last != end) field.fail("this is no hexadecimal number");
  return hash;
}

/// The figures of a step by name: one list for writing and reading.
template <class Time, class Visit>
void each_figure(Time& time, Visit visit) {
  visit("simulated_us", time.total_us);
  visit("compute_us", time.compute_us);
  visit("exchange_us", time.exchange_us);
  visit("bubble_us", time.bubble_us);
  visit("handover_us", time.handover_us);
  visit("gradient_sum_us", time.gradient_sum_us);
  visit("update_us", time.update_us);
  visit("peak_bytes", time.peak_bytes);
  visit("bytes_moved", time.bytes_moved);
}

template <class Estimate, class Visit>
void each_estimate(Estimate& estimate, Visit visit) {
  visit("forward_us", estimate.forward_us);
  visit("forward_exchange_us", estimate.forward_exchange_us);
  visit("again_us", estimate.again_us);
  visit("backward_us", estimate.backward_us);
  visit("backward_exchange_us", estimate.backward_exchange_us);
  visit("gradient_sum_us", estimate.gradient_sum_us);
  visit("update_us", estimate.update_us);
  visit("weight_bytes", estimate.weight_bytes);
  visit("kept_bytes", estimate.kept_bytes);
  visit("handover_bytes", estimate.handover_bytes);
}

template <class Shape, class Visit>
void each_size(Shape& shape, Visit visit) {
  visit("stages", shape.stages);
  visit("chunks", shape.chunks);
  visit("microbatches", shape.microbatches);
}

std::map<std::string, std::vector<std::string>> read_cuts(const PlanReader& entry) {
  std::map<std::string, std::vector<std::string>> cuts;
  entry.for_each_field([&](const std::string& key, const PlanReader& axes) {
    axes.for_each([&](const PlanReader& axis) { cuts[key].push_back(axis.text()); });
  });
  return cuts;
}

void read_axes(const PlanReader& document, PlanDocument& plan) {
  document.field("axes").for_each([&](const PlanReader& entry) {
    entry.expect_keys({"name", "size", "stride"});
    plan.axes.push_back({entry.field("name").text(), entry.field("size").integer(),
                         entry.field("stride").integer()});
    if (plan.axes.back().size < 1 || plan.axes.back().stride < 1)
      entry.fail("an axis has no devices");
  });
  if (plan.axes.size() > kMostAxes) return document.field("axes").fail("too many axes");
  std::int64_t devices = plan.shape.stages;
  for (const PlanAxis& axis : plan.axes) devices *= axis.size;
  if (devices != plan.devices) document.field("axes").fail("their sizes do not give the devices");
}

void check_axes(const PlanReader& place, const PlanDocument& plan,
                const std::map<std::string, std::vector<std::string>>& cuts) {
  for (const auto& [loop, axes] : cuts)
    for (const std::string& name : axes) {
      bool is_known = false;
      for (const PlanAxis& axis : plan.axes) is_known |= axis.name == name;
      if (!is_known) place.fail(fmt::format("there is no axis '{}'", name));
    }
}

/// What is 0 is left out.
void read_estimates(const PlanReader& document, PlanDocument& plan) {
  document.field("estimates").for_each([&](const PlanReader& entry) {
    NodeEstimate& estimate = plan.estimates.emplace_back();
    each_estimate(estimate, [&](const char* name, double& figure) {
      if (entry.has(name)) figure = entry.field(name).positive();
    });
  });
}

/// An index into a list of the document.
std::size_t read_index(const PlanReader& entry, const char* list, std::size_t size) {
  const std::int64_t index = entry.integer();
  if (index >= 0 && index < static_cast<std::int64_t>(size)) return static_cast<std::size_t>(index);
  entry.fail(fmt::format("there is no such entry in {}", list));
  return 0;
}

void read_nodes(const PlanReader& document, PlanDocument& plan) {
  document.field("cuts").for_each([&](const PlanReader& entry) {
    plan.cuts.push_back({read_cuts(entry)});
    check_axes(entry, plan, plan.cuts.back().loops);
  });
  document.field("nodes").for_each([&](const PlanReader& entry) {
    entry.expect_keys({"name", "stage", "cuts", "estimate"});
    PlannedNode node{entry.field("name").text(), entry.field("stage").integer()};
    if (node.stage < 0 || node.stage >= plan.shape.stages) entry.fail("there is no such stage");
    node.cuts = read_index(entry.field("cuts"), "cuts", plan.cuts.size());
    node.estimate = read_index(entry.field("estimate"), "estimates", plan.estimates.size());
    plan.nodes.push_back(std::move(node));
  });
  document.field("weights").for_each_field([&](const std::string& name, const PlanReader& entry) {
    plan.weights.push_back({name, read_cuts(entry)});
    check_axes(entry, plan, plan.weights.back().dims);
  });
}

void write_estimates(const PlanDocument& document, PlanJson& json) {
  json = PlanJson::array();
  for (const NodeEstimate& estimate : document.estimates) {
    PlanJson entry = PlanJson::object();
    each_estimate(estimate, [&](const char* name, double figure) {
      if (figure != 0) entry[name] = figure;
    });
    json.push_back(std::move(entry));
  }
}

}  // namespace

std::string plan_to_json(const PlanDocument& document) {
  PlanJson json{
      {"version", PlanDocument::kVersion},
      {"model", hash_text_of(document.model_hash)},
      {"topology", {{"name", document.topology}, {"hash", hash_text_of(document.topology_hash)}}},
      {"strategy", document.strategy},
      {"devices", document.devices},
      {"training", document.is_training}};
  PlanJson& pipeline = json["pipeline"];
  each_size(document.shape, [&](const char* name, const auto& size) { pipeline[name] = size; });
  pipeline["recomputes"] = document.shape.recomputes;
  pipeline["recomputes_attention"] = document.shape.recomputes_attention;
  json["axes"] = PlanJson::array();
  for (const PlanAxis& axis : document.axes)
    json["axes"].push_back({{"name", axis.name}, {"size", axis.size}, {"stride", axis.stride}});
  each_figure(document.time, [&](const char* name, const auto& figure) { json[name] = figure; });
  json["lower_bound_us"] = document.lower_bound_us;
  json["estimated_share"] = document.estimated_share;
  json["cuts"] = PlanJson::array();
  for (const NodeCuts& cuts : document.cuts)
    json["cuts"].push_back(cuts.loops.empty() ? PlanJson::object() : PlanJson(cuts.loops));
  write_estimates(document, json["estimates"]);
  json["nodes"] = PlanJson::array();
  for (const PlannedNode& node : document.nodes)
    json["nodes"].push_back({{"name", node.name},
                             {"stage", node.stage},
                             {"cuts", node.cuts},
                             {"estimate", node.estimate}});
  json["weights"] = PlanJson::object();
  for (const PlannedWeight& weight : document.weights)
    json["weights"][weight.name] = weight.dims.empty() ? PlanJson::object() : PlanJson(weight.dims);
  return json.dump(1, ' ', false, PlanJson::error_handler_t::replace) + "\n";
}

core::Result<PlanDocument> plan_from_json(std::string_view text) {
  const PlanJson json = PlanJson::parse(text, nullptr, false);
  if (json.is_discarded()) return core::invalid_input("this is no JSON");
  std::optional<core::Error> error;
  const PlanReader document(json, "", error);
  PlanDocument plan;
  if (document.field("version").integer() != PlanDocument::kVersion)
    document.field("version").fail("this version of plans is not known here");
  plan.model_hash = read_hash(document.field("model"));
  plan.topology = document.field("topology").field("name").text();
  plan.topology_hash = read_hash(document.field("topology").field("hash"));
  plan.strategy = document.field("strategy").text();
  plan.devices = document.field("devices").integer();
  plan.is_training = document.field("training").truth();
  const PlanReader pipeline = document.field("pipeline");
  each_size(plan.shape, [&](const char* name, std::int64_t& size) {
    size = pipeline.field(name).integer();
    if (size < 1) pipeline.field(name).fail("this is not positive");
  });
  plan.shape.recomputes = pipeline.field("recomputes").truth();
  plan.shape.recomputes_attention = pipeline.field("recomputes_attention").truth();
  read_axes(document, plan);
  each_figure(plan.time,
              [&](const char* name, double& figure) { figure = document.field(name).number(); });
  plan.lower_bound_us = document.field("lower_bound_us").number();
  plan.estimated_share = document.field("estimated_share").number();
  read_estimates(document, plan);
  read_nodes(document, plan);
  if (plan.axes.size() == 3) {
    plan.shape.model = plan.axes[0].size;
    plan.shape.any = plan.axes[1].size;
    plan.shape.batch = plan.axes[2].size;
  }
  if (error) return *error;
  return plan;
}

}  // namespace soapstone::parallel
