// See described_plan.h.
#include "parallel/described/described_plan.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/nearest.h"
#include "parallel/topology/json_parser.h"
#include "parallel/topology/json_reader.h"

namespace soapstone::parallel {
namespace {

using DescriptionReader = JsonReader<nlohmann::ordered_json>;

constexpr std::int64_t kMostOfAny = std::int64_t{1} << 31;

DescribedStage read_stage(const DescriptionReader& entry) {
  entry.expect_keys({"layers", "devices", "tensor_parallel", "data_parallel"});
  DescribedStage stage;
  entry.field("layers").for_each([&](const DescriptionReader& layer) {
    stage.layers.push_back(static_cast<std::size_t>(layer.integer(0, kMostOfAny)));
  });
  if (stage.layers.empty()) entry.field("layers").fail("a stage has at least one layer");
  entry.field("devices").for_each(
      [&](const DescriptionReader& device) { stage.devices.push_back(device.text()); });
  stage.tensor_parallel = entry.field("tensor_parallel").integer(1, kMostOfAny);
  const std::int64_t replicas = entry.field("data_parallel").integer(1, kMostOfAny);
  if (static_cast<std::int64_t>(stage.devices.size()) != replicas)
    entry.field("devices").fail(fmt::format("{} devices are not one for each of {} replicas",
                                            stage.devices.size(), replicas));
  return stage;
}

DescribedFramework read_framework(const DescriptionReader& entry) {
  entry.expect_keys({"handovers", "context_mb", "communicators", "communicator_mb", "fragmentation",
                     "bucket_elements"});
  DescribedFramework framework;
  if (entry.has("handovers")) {
    const DescriptionReader handovers = entry.field("handovers");
    const std::string order = handovers.text();
    if (order != "in_turn" && order != "both_ways")
      handovers.fail(fmt::format("'{}' is neither in_turn nor both_ways", order));
    if (order == "both_ways") framework.handovers = HandoverOrder::kBothWays;
  }
  const auto read = [&](const char* key, double& figure) {
    if (entry.has(key)) figure = entry.field(key).not_negative();
  };
  read("context_mb", framework.context_mb);
  read("communicator_mb", framework.communicator_mb);
  read("fragmentation", framework.fragmentation);
  read("bucket_elements", framework.bucket_elements);
  if (entry.has("communicators"))
    framework.communicators = entry.field("communicators").integer(0, kMostOfAny);
  return framework;
}

/// Stages have the layers 0, 1, 2, … in order.
core::Status check_layers(const DescribedPlan& plan, const std::string& stages) {
  std::size_t expected = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (std::size_t k = 0; k < plan.stages[s].layers.size(); ++k, ++expected) {
      const std::size_t layer = plan.stages[s].layers[k];
      if (layer == expected) continue;
      return core::invalid_input(
                 layer < expected
                     ? fmt::format("layer {} is there twice or out of order", layer)
                     : fmt::format("layer {} is missing before layer {}", expected, layer),
                 "give the stages layers 0, 1, 2, … in order")
          .at(fmt::format("{}[{}].layers[{}]", stages, s, k));
    }
  return core::Done{};
}

core::Status check_replicas(const DescribedPlan& plan, const std::string& stages) {
  for (std::size_t s = 1; s < plan.stages.size(); ++s)
    if (const std::size_t replicas = plan.stages[s].devices.size(); replicas != plan.replicas())
      return core::unsupported(
                 fmt::format("{} replicas, and stage 0 has {}", replicas, plan.replicas()),
                 "replica j of a stage hands over to replica j of the next: give all stages the "
                 "same data_parallel")
          .at(fmt::format("{}[{}].data_parallel", stages, s));
  return core::Done{};
}

void check_batch(const DescriptionReader& entry, DescribedPlan& plan) {
  const DescriptionReader global = entry.field("global_batch");
  const std::int64_t batch = global.integer(1, kMostOfAny);
  const auto replicas = static_cast<std::int64_t>(plan.replicas());
  const std::int64_t at_a_time = plan.microbatch * replicas;
  if (batch % at_a_time != 0)
    return global.fail(fmt::format("{} samples are no whole number of microbatches of {} on {} "
                                   "replicas",
                                   batch, plan.microbatch, replicas));
  plan.microbatches = batch / at_a_time;
  if (!entry.has("microbatches")) return;
  const DescriptionReader said = entry.field("microbatches");
  if (const std::int64_t count = said.integer(1, kMostOfAny); count != plan.microbatches)
    said.fail(fmt::format("{} microbatches of {} on {} replicas are not the global batch of {}",
                          count, plan.microbatch, replicas, batch));
}

/// Other keys may stand beside those of a plan, as what was measured. One that looks like the key
/// that may be left out is refused, as it would change nothing.
void check_optional_key(const nlohmann::ordered_json& json, const DescriptionReader& entry) {
  const std::string optional = "framework";
  if (!json.is_object()) return entry.fail(entry.found() + " is no object");
  for (const auto& [key, value] : json.items())
    if (key != optional && core::nearest(key, {optional}) == optional)
      entry.fail("there is no key '" + key + "' here", "did you mean '" + optional + "'?");
}

core::Result<DescribedPlan> read_described(const nlohmann::ordered_json& json,
                                           const std::string& place) {
  std::optional<core::Error> error;
  const DescriptionReader entry(json, place, error);
  check_optional_key(json, entry);
  DescribedPlan plan;
  plan.id = entry.field("id").text();
  plan.model = entry.field("model").text();
  if (entry.has("nodes")) plan.nodes = entry.field("nodes").integer(1, kMostOfAny);
  plan.microbatch = entry.field("microbatch").integer(1, kMostOfAny);
  const DescriptionReader stages = entry.field("stages");
  stages.for_each(
      [&](const DescriptionReader& stage) { plan.stages.push_back(read_stage(stage)); });
  if (plan.stages.empty()) stages.fail("a plan has at least one stage");
  if (entry.has("framework")) plan.framework = read_framework(entry.field("framework"));
  if (error) return *error;
  SOAPSTONE_RETURN_IF_ERROR(check_layers(plan, stages.place()));
  SOAPSTONE_RETURN_IF_ERROR(check_replicas(plan, stages.place()));
  check_batch(entry, plan);
  if (error) return *error;
  return plan;
}

}  // namespace

core::Result<std::vector<DescribedPlan>> described_plans_from_json(std::string_view text) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto json, parse_json<nlohmann::ordered_json>(text));
  std::vector<DescribedPlan> plans;
  if (json.is_array() && json.empty()) return core::invalid_input("the list has no plan");
  if (!json.is_array()) {
    SOAPSTONE_ASSIGN_OR_RETURN(DescribedPlan plan, read_described(json, ""));
    plans.push_back(std::move(plan));
    return plans;
  }
  std::set<std::string> ids;
  for (std::size_t k = 0; k < json.size(); ++k) {
    const std::string place = fmt::format("[{}]", k);
    SOAPSTONE_ASSIGN_OR_RETURN(DescribedPlan plan, read_described(json[k], place));
    if (!ids.insert(plan.id).second)
      return core::invalid_input(fmt::format("the id '{}' is there twice", plan.id),
                                 "give each plan an id of its own")
          .at(place + ".id");
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::parallel
