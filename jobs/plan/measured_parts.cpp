// See measured_parts.h.
#include "jobs/plan/measured_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "ops/definition/registry.h"
#include "ops/restriction/restrict.h"

namespace soapstone::jobs {
namespace {

/// Alike: the same operator with the same attributes on inputs of the same types.
std::uint64_t kind_of(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  std::uint64_t hash = node.local_hash;
  for (const core::TensorId input : node.inputs) {
    hash = core::hash_combine(hash, input.valid() ? 1 : 0);
    if (!input.valid()) continue;
    const core::TensorType& type = graph.tensor(input).type;
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(type.data_type));
    for (const core::Size& size : type.shape)
      hash = core::hash_combine(hash, static_cast<std::uint64_t>(size.as_constant().value_or(0)));
  }
  return hash;
}

}  // namespace

MeasuredParts::MeasuredParts(const core::Graph& graph, const std::vector<bool>& is_weight,
                             cost::CostModel& costs, double seconds, PartSlowdown slowdown)
    : graph_(graph), costs_(costs), slowdown_(slowdown),
      loops_(parallel::graph_loops(graph, is_weight)), kinds_(graph.node_bound()),
      seconds_left_(seconds) {
  std::map<std::uint64_t, std::size_t> numbers;
  for (const core::NodeId id : graph.order())
    kinds_[id.index()] = numbers.try_emplace(kind_of(graph, id), numbers.size()).first->second;
}

bool MeasuredParts::is_contraction(core::NodeId node) const {
  const ops::OpDefinition* definition = ops::definition_of(graph_.node(node));
  return definition && definition->op_class == ops::OpClass::kContraction;
}

/// What is not measured is estimated, and off by as much as the estimates of what is.
double MeasuredParts::forward_us(core::NodeId node, std::span<const std::int64_t> lengths,
                                 double estimate_us) const {
  const std::lock_guard lock(mutex_);
  Known& known = known_[{kinds_[node.index()], {lengths.begin(), lengths.end()}}];
  known.estimate_us = std::max(known.estimate_us, estimate_us);
  if (known.us) return *known.us;
  return estimate_us * (is_contraction(node) ? contractions_ : others_).scale();
}

double MeasuredParts::least_scale(core::NodeId node) const {
  const double of_others = (is_contraction(node) ? contractions_ : others_).scale();
  const auto found = least_scale_.find(kinds_[node.index()]);
  return found == least_scale_.end() ? of_others : std::min(of_others, found->second);
}

MeasuredParts::Key MeasuredParts::key_in(const parallel::MeshPlan& plan, core::NodeId node) const {
  const std::size_t n = node.index();
  return {kinds_[n], parallel::part_lengths(loops_.spaces[n].loops, loops_.origins[n],
                                            plan.sharding.nodes[n].loops, plan.axis_sizes,
                                            plan.shape.microbatches)};
}

bool MeasuredParts::learn(const parallel::MeshPlan& plan, const Context& context) {
  bool has_learned = false;
  bool has_begun = false;
  for (const core::NodeId id : graph_.order()) {
    if (graph_.is_constant_expression(id)) continue;
    const auto found = known_.find(key_in(plan, id));
    if (found == known_.end() || found->second.was_tried) continue;
    if (context.stop.stop_requested() || seconds_left_ <= 0) break;
    if (!std::exchange(has_begun, true)) context.progress.stage("measuring what the plan runs");
    const double start_s = core::wall_s();
    Known& known = found->second;
    known.was_tried = true;
    known.us = timed(id, found->first.second);
    seconds_left_ -= core::wall_s() - start_s;
    if (!known.us) continue;
    has_learned = true;
    const double scale = *known.us / known.estimate_us;
    double& least = least_scale_.try_emplace(kinds_[id.index()], scale).first->second;
    least = std::min(least, scale);
    Sums& sums = is_contraction(id) ? contractions_ : others_;
    sums.measured_us += *known.us;
    sums.estimated_us += known.estimate_us;
  }
  return has_learned;
}

/// None: no small graph computes the part, or the costs are only estimates themselves.
std::optional<double> MeasuredParts::timed(core::NodeId node,
                                           std::span<const std::int64_t> lengths) {
  const ops::PartitionSpace& space = loops_.spaces[node.index()];
  if (!space.digits) return std::nullopt;
  ops::PartBox box;
  for (const std::int64_t length : lengths) box.push_back({0, length});
  const auto part = ops::restrict_to(graph_, node, space, box);
  if (!part) return std::nullopt;
  const cost::GraphCost cost = costs_.graph_cost(part->graph);
  if (cost.estimated_us > 0 || cost.total_us <= 0) return std::nullopt;
  return cost.total_us * (is_contraction(node) ? slowdown_.contractions : slowdown_.others);
}

double MeasuredParts::estimated_share(const parallel::MeshPlan& plan) const {
  double measured_us = 0, all_us = 0;
  const auto microbatches = static_cast<double>(plan.shape.microbatches);
  for (const core::NodeId id : graph_.order()) {
    if (graph_.is_constant_expression(id)) continue;
    const parallel::NodeEstimate& node = plan.estimates[id.index()];
    all_us += (node.forward_us + node.again_us + node.backward_us + node.forward_exchange_us +
               node.backward_exchange_us) *
                  microbatches +
              node.gradient_sum_us + node.update_us;
    const auto found = known_.find(key_in(plan, id));
    // A node within the launch of another one is alike, but takes less.
    if (found == known_.end() || !found->second.us || node.forward_us < *found->second.us) continue;
    measured_us += *found->second.us * (node.again_us > 0 ? 2 : 1) * microbatches;
  }
  return all_us > 0 ? std::clamp(1 - measured_us / all_us, 0.0, 1.0) : 1;
}

}  // namespace soapstone::jobs
