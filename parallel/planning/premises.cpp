#include "parallel/planning/premises.h"

#include <algorithm>

#include <fmt/format.h>

#include "parallel/work/weight_loops.h"

namespace soapstone::parallel {
namespace {

template <class Property>
bool has_node(const core::Graph& graph, Property&& property) {
  return std::ranges::any_of(graph.order(), [&](core::NodeId id) {
    return !graph.is_constant_expression(id) && property(id);
  });
}

bool cuts_somewhere(const core::Graph& graph, const MeshPlan& plan, std::size_t axis) {
  return has_node(
      graph, [&](core::NodeId id) { return plan.sharding.nodes[id.index()].loops[axis] >= 0; });
}

/// Experts are whole: each device has as many.
core::Status check_experts(const core::Graph& graph, const GraphLoops& loops, const StepWork& work,
                           std::int64_t devices) {
  bool has_experts = false;
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    const std::int64_t experts = WeightLoops(graph, id, loops, work).experts();
    has_experts |= experts > 0;
    if (experts % devices != 0)
      return core::unsupported(fmt::format("{} devices do not share the {} experts of '{}' evenly",
                                           devices, experts, graph.node(id).name),
                               "take a number of devices that divides them, or another strategy");
  }
  if (has_experts) return core::Done{};
  return core::unsupported("the model has no experts", "take another strategy");
}

}  // namespace

core::Status check_premises(const Premises& premises, const core::Graph& graph,
                            const GraphLoops& loops, const StepWork& work, bool is_training,
                            std::int64_t devices) {
  const auto has_linear_layer = [&](core::NodeId id) {
    return WeightLoops(graph, id, loops, work).meets_once();
  };
  const auto has_sequence = [&](core::NodeId id) {
    return std::ranges::count(loops.origins[id.index()], Origin::kSequence) > 0;
  };
  if (premises.needs_training && !is_training)
    return core::unsupported("the strategy is one for training", "plan a step of training");
  if (premises.halves_devices && devices % 2 != 0)
    return core::unsupported(fmt::format("{} devices have no halves", devices),
                             "take an even number of devices, or another strategy");
  if (premises.needs_experts) SOAPSTONE_RETURN_IF_ERROR(check_experts(graph, loops, work, devices));
  if (premises.needs_linear_layer && !has_node(graph, has_linear_layer))
    return core::unsupported("each weight of the model serves many positions of a sample",
                             "take another strategy: here it would be data parallelism");
  if (premises.needs_sequence && !has_node(graph, has_sequence))
    return core::unsupported("the model has no sequence", "take another strategy");
  return core::Done{};
}

bool holds(const Premises& premises, const MeshShape& shape, std::int64_t batch) {
  const MeshShape& least = premises.least;
  if (shape.stages < least.stages || shape.chunks < least.chunks || shape.model < least.model ||
      shape.any < least.any || shape.batch < least.batch)
    return false;
  return !premises.divides_batch || batch % (shape.batch * shape.microbatches) == 0;
}

std::string broken_premise(const Premises& premises, const core::Graph& graph, const StepWork& work,
                           const MeshPlan& plan) {
  if (plan.sharding.nodes.empty()) return {};
  if (const core::NodeId id = plan.sharding.disobeys;
      id.valid() && work.nodes[id.index()].scores_attention && plan.shape.model > 1)
    return fmt::format("{} parts do not share the heads of '{}' evenly", plan.shape.model,
                       graph.node(id).name);
  if (const core::NodeId id = plan.sharding.disobeys; id.valid())
    return fmt::format("the strategy asks for a cut of '{}' that its sizes do not admit",
                       graph.node(id).name);
  for (std::size_t a = 0; premises.uses_all_axes && a < plan.axis_sizes.size(); ++a)
    if (plan.axis_sizes[a] > 1 && !cuts_somewhere(graph, plan, a))
      return fmt::format("no cut into {} parts is worth its costs, and without one the devices "
                         "would all do the same",
                         plan.axis_sizes[a]);
  return {};
}

}  // namespace soapstone::parallel
