#include "parallel/planning/mesh_planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/tasks/tasks.h"
#include "parallel/planning/step_time.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) result.push_back(d);
  return result;
}

Mesh make_mesh(const Topology& topology, const std::vector<std::int64_t>& sizes) {
  std::vector<GroupShape> shapes;
  std::int64_t stride = 1;
  for (const std::int64_t size : sizes) {
    shapes.push_back(shape_of_axis(topology, stride, size));
    stride *= size;
  }
  return Mesh(sizes, [shapes](Collective what, std::size_t axis, double bytes) {
    return best_collective(what, shapes[axis], bytes).us;
  });
}

/// Bytes for a byte of a weight: weight and gradient; states of the optimizer, with a master copy
/// where weights are narrower than 32 bits.
void set_memory(const MeshPlanOptions& options, core::DataType weights, ShardingOptions& sharding) {
  sharding.bytes_per_weight_byte = options.is_training ? 2 : 1;
  if (!options.is_training) return;
  const double states = options.optimizer == Optimizer::kAdam       ? 2
                        : options.optimizer == Optimizer::kMomentum ? 1
                                                                    : 0;
  const auto bytes = static_cast<double>(core::size_bytes(weights));
  constexpr double kStateBytes = 4;
  const double master = bytes < kStateBytes ? 1 : 0;
  sharding.state_bytes_per_weight_byte = (states + master) * kStateBytes / bytes;
}

class MeshPlanner {
 public:
  MeshPlanner(const core::Graph& graph, const std::vector<bool>& is_weight,
              const Topology& topology, const MeshPlanOptions& options,
              core::ProgressSink& progress, const core::StopToken& stop)
      : graph_(graph), topology_(topology), options_(options), progress_(progress), stop_(stop),
        arena_(options.threads),
        devices_(options.devices.value_or(static_cast<std::int64_t>(topology.device_count()))),
        loops_(graph_loops(graph, is_weight)),
        work_(step_work(graph, is_weight,
                        {options.is_training, options.precision, options.attention})) {
    const DeviceKind& kind = slowest_kind();
    rates_.flops_per_s = kind.flops_per_s;
    rates_.bytes_per_s = kind.memory_bytes_per_s;
    memory_ = options.memory_bytes.value_or(kind.memory_bytes);
    for (const core::NodeId id : graph.order())
      if (!graph.is_constant_expression(id)) ++nodes_;
    batch_ = batch_size(is_weight);
    weight_type_ = options.precision.value_or(narrowest_weight(is_weight));
  }

  core::Result<MeshPlanOutcome> run() {
    arena_.run([&] { search(); });
    MeshPlanOutcome outcome;
    const MeshPlan* best = best_plan();
    if (!best) return nothing_found();
    outcome.plan = *best;
    outcome.fits = best->time.peak_bytes <= memory_;
    outcome.meshes_tried = tried_.size();
    bound(outcome);
    return outcome;
  }

 private:
  void search() {
    consider(first_shapes());
    if (!best_plan()) return;
    climb();
    hide_sums();
  }

  core::Error nothing_found() const {
    if (stop_.stop_requested())
      return {core::ErrorCode::kInterrupted, "stopped before there was a plan", {}, {}};
    return core::unsupported(
        fmt::format("this strategy cuts a batch of {} into no parts for {} devices", batch_,
                    devices_),
        "take a larger batch, fewer devices, or another strategy");
  }

  /// Equal parts on unlike devices end when the slowest one ends.
  const DeviceKind& slowest_kind() const {
    const DeviceKind* slowest = nullptr;
    const auto rate = [](const DeviceKind& kind) {
      double best = 0;
      for (const auto& [type, flops] : kind.flops_per_s) best = std::max(best, flops);
      return best;
    };
    for (std::int64_t d = 0; d < devices_; ++d) {
      const DeviceKind& kind = topology_.kind_of(DeviceId(static_cast<std::size_t>(d)));
      if (!slowest || rate(kind) < rate(*slowest)) slowest = &kind;
    }
    return *slowest;
  }

  core::DataType narrowest_weight(const std::vector<bool>& is_weight) const {
    core::DataType narrowest = core::DataType::kFloat32;
    for (std::size_t t = 0; t < is_weight.size(); ++t) {
      if (!is_weight[t]) continue;
      const core::DataType type = graph_.tensor(core::TensorId(t)).type.data_type;
      if (core::size_bytes(type) < core::size_bytes(narrowest)) narrowest = type;
    }
    return narrowest;
  }

  std::int64_t batch_size(const std::vector<bool>& is_weight) const {
    std::int64_t batch = 0;
    for (const core::TensorId id : graph_.inputs()) {
      const auto dims = core::concrete(graph_.tensor(id).type.shape);
      if (is_weight[id.index()] || !dims || dims->empty()) continue;
      batch = batch == 0 ? (*dims)[0] : std::min(batch, (*dims)[0]);
    }
    return std::max<std::int64_t>(batch, 1);
  }

  std::vector<MeshShape> first_shapes() const {
    std::vector<MeshShape> shapes;
    const Freedom& freedom = options_.freedom;
    for (const std::int64_t stages : stage_counts())
      for (const std::int64_t model : divisors(devices_ / stages)) {
        if (freedom.model ? model != *freedom.model : model > kMostModel) continue;
        MeshShape shape;
        shape.stages = stages;
        shape.model = model;
        shape.any = freedom.any.value_or(1);
        if (devices_ % (stages * model * shape.any) != 0) continue;
        shape.batch = devices_ / (stages * model * shape.any);
        shape.microbatches = usual_microbatches(shape);
        shape.chunks = freedom.chunks.value_or(1);
        shape.recomputes = freedom.recomputes.value_or(false) && options_.is_training;
        shapes.push_back(shape);
      }
    return shapes;
  }

  std::vector<std::int64_t> stage_counts() const {
    const Freedom& freedom = options_.freedom;
    if (freedom.stages) return {*freedom.stages};
    std::vector<std::int64_t> counts;
    for (const std::int64_t d : divisors(devices_))
      if (d == 1 || (freedom.pipelines && d <= std::min(nodes_ / kNodesOfStage, kMostStages)))
        counts.push_back(d);
    return counts;
  }

  std::int64_t usual_microbatches(const MeshShape& shape) const {
    if (options_.freedom.microbatches) return *options_.freedom.microbatches;
    if (shape.stages == 1) return 1;
    const std::int64_t most = std::max<std::int64_t>(batch_ / shape.batch, 1);
    std::int64_t count = 1;
    while (count < kMicrobatchesAStage * shape.stages && batch_ % (count * 2) == 0 &&
           count * 2 <= most)
      count *= 2;
    return count;
  }

  /// Doubles and halves the sizes of the best shapes as long as that helps.
  void climb() {
    std::set<MeshShape> climbed;
    for (int round = 0; round < kMostRounds && !stop_.stop_requested(); ++round) {
      const MeshPlan* best = best_plan();
      if (!climbed.insert(best->shape).second) break;
      consider(neighbors(best->shape));
    }
  }

  /// Plans the fastest shapes again for the case that the backward pass hides sums of gradients.
  void hide_sums() {
    if (!options_.is_training) return;
    std::vector<MeshPlan*> plans;
    for (auto& [shape, plan] : tried_)
      if (plan.sharding.cost_us < kImpossible) plans.push_back(&plan);
    std::stable_sort(plans.begin(), plans.end(),
                     [&](const MeshPlan* a, const MeshPlan* b) { return is_better(*a, *b); });
    plans.resize(std::min(plans.size(), kShapesAgain));
    sum_weight_ = kHiddenSums;
    const double limit_us = fastest_that_fits();
    core::parallel_for_uneven(0, plans.size(), [&](std::size_t k) {
      if (stop_.stop_requested()) return;
      MeshPlan again = plan_at(plans[k]->shape, 0);
      make_fit(again, limit_us);
      if (again.sharding.cost_us < kImpossible && is_better(again, *plans[k]))
        *plans[k] = std::move(again);
    });
  }

  std::vector<MeshShape> neighbors(const MeshShape& from) const {
    std::vector<MeshShape> all;
    const auto add = [&](MeshShape shape, std::int64_t MeshShape::*grows,
                         std::int64_t MeshShape::*shrinks) {
      if (shrinks && shape.*shrinks % 2 != 0) return;
      shape.*grows *= 2;
      if (shrinks) shape.*shrinks /= 2;
      all.push_back(shape);
    };
    const auto sizes = {&MeshShape::stages, &MeshShape::model, &MeshShape::any, &MeshShape::batch};
    for (const auto grows : sizes)
      for (const auto shrinks : sizes)
        if (grows != shrinks) add(from, grows, shrinks);
    add(from, &MeshShape::microbatches, nullptr);
    add(from, &MeshShape::chunks, nullptr);
    for (const auto shrinks : {&MeshShape::microbatches, &MeshShape::chunks}) {
      if (from.*shrinks % 2 != 0) continue;
      MeshShape shape = from;
      shape.*shrinks /= 2;
      all.push_back(shape);
    }
    MeshShape turned = from;
    turned.recomputes = !from.recomputes;
    all.push_back(turned);
    return all;
  }

  bool is_allowed(const MeshShape& shape) const {
    const Freedom& freedom = options_.freedom;
    const auto differs = [](const std::optional<std::int64_t>& fixed, std::int64_t size) {
      return fixed && *fixed != size;
    };
    if (differs(freedom.model, shape.model) || differs(freedom.any, shape.any) ||
        differs(freedom.stages, shape.stages) || differs(freedom.chunks, shape.chunks) ||
        differs(freedom.microbatches, shape.microbatches))
      return false;
    if (shape.stages > 1 && !freedom.pipelines) return false;
    if (freedom.recomputes && *freedom.recomputes != shape.recomputes) return false;
    if (shape.recomputes && !options_.is_training) return false;
    if (shape.chunks > 1 && shape.stages == 1) return false;
    if (shape.stages * shape.chunks > nodes_) return false;
    if (shape.batch * shape.microbatches > batch_) return false;
    return batch_ % shape.microbatches == 0 && shape.device_count() == devices_;
  }

  /// Several at a time, without a price of memory first; what does not fit then, the fastest first,
  /// a few at a time, as long as it could still be the best. How many does not depend on threads,
  /// so neither does the result.
  void consider(const std::vector<MeshShape>& shapes) {
    std::vector<MeshPlan*> plans;
    for (const MeshShape& shape : shapes)
      if (is_allowed(shape) && !stop_.stop_requested()) {
        const auto [at, is_new] = tried_.try_emplace(shape);
        if (is_new) plans.push_back(&at->second);
        at->second.shape = shape;
      }
    core::parallel_for_uneven(0, plans.size(), [&](std::size_t k) {
      if (!stop_.stop_requested()) *plans[k] = plan_at(plans[k]->shape, 0);
    });
    tell();
    std::erase_if(plans, [&](const MeshPlan* plan) {
      return plan->sharding.cost_us == kImpossible || plan->time.peak_bytes <= memory_;
    });
    std::ranges::stable_sort(plans, {}, [](const MeshPlan* plan) { return plan->time.total_us; });
    for (std::size_t first = 0; first < plans.size(); first += kPricedAtOnce) {
      const double limit_us = fastest_that_fits();
      const std::size_t last = std::min(first + kPricedAtOnce, plans.size());
      core::parallel_for_uneven(first, last, [&](std::size_t k) { make_fit(*plans[k], limit_us); });
      tell();
    }
  }

  void tell() const {
    const MeshPlan* best = best_plan();
    if (best)
      progress_.update(tried_.size(), 0, fmt::format("best {:.1f} ms", best->time.total_us / 1e3));
  }

  double fastest_that_fits() const {
    const MeshPlan* best = best_plan();
    return best && best->time.peak_bytes <= memory_ ? best->time.total_us : kImpossible;
  }

  /// The fastest plan that fits; if none does, the one that takes the least memory.
  const MeshPlan* best_plan() const {
    const MeshPlan* best = nullptr;
    for (const auto& [shape, plan] : tried_)
      if (plan.sharding.cost_us < kImpossible && (!best || is_better(plan, *best))) best = &plan;
    return best;
  }

  bool is_better(const MeshPlan& a, const MeshPlan& b) const {
    const bool a_fits = a.time.peak_bytes <= memory_, b_fits = b.time.peak_bytes <= memory_;
    if (a_fits != b_fits) return a_fits;
    if (!a_fits) return a.time.peak_bytes < b.time.peak_bytes;
    return a.time.total_us < b.time.total_us;
  }

  /// A plan that does not fit is planned again at the lowest price of memory at which it does. Such
  /// a price makes no plan faster, so one that takes `limit_us` without it is left alone.
  void make_fit(MeshPlan& plan, double limit_us) const {
    if (plan.time.peak_bytes <= memory_ || plan.sharding.cost_us == kImpossible) return;
    if (plan.time.total_us >= limit_us || stop_.stop_requested()) return;
    double low = 0, high = plan.time.total_us / plan.time.peak_bytes * kHighPrice;
    MeshPlan best = plan_at(plan.shape, high);
    if (!is_better(best, plan)) return;
    for (int k = 0; k < kPrices && best.time.peak_bytes <= memory_; ++k) {
      const double middle = k == 0 ? high * 1e-3 : low == 0 ? high * 0.1 : std::sqrt(low * high);
      MeshPlan found = plan_at(plan.shape, middle);
      if (found.time.peak_bytes <= memory_) {
        high = middle;
        if (is_better(found, best)) best = std::move(found);
      } else {
        low = middle;
      }
    }
    plan = std::move(best);
  }

  MeshPlan plan_at(const MeshShape& shape, double us_per_byte) const {
    MeshPlan plan;
    plan.shape = shape;
    plan.axis_sizes = {shape.model, shape.any, shape.batch};
    const Mesh mesh = make_mesh(topology_, plan.axis_sizes);
    ShardingOptions sharding;
    sharding.choices.policies = options_.freedom.policies;
    sharding.choices.microbatches = shape.microbatches;
    sharding.is_training = options_.is_training;
    sharding.microbatch_weight = microbatch_weight(shape);
    sharding.us_per_byte = us_per_byte;
    sharding.sum_weight = sum_weight_;
    sharding.kept_microbatches = static_cast<double>(std::min(shape.stages, shape.microbatches));
    sharding.recomputes = shape.recomputes;
    sharding.cuts_states = options_.freedom.cuts_states;
    sharding.cuts_weights = options_.freedom.cuts_weights;
    set_memory(options_, weight_type_, sharding);
    const StepWork work = per_microbatch(graph_, loops_, work_, shape.microbatches);
    CostTables tables;
    plan.sharding = best_sharding(graph_, loops_, work, mesh, rates_, sharding, tables);
    if (plan.sharding.cost_us < kImpossible)
      time_step(graph_, work, topology_, options_.is_training, plan);
    return plan;
  }

  /// The time of all contractions if each device has a share of them that fits its rate.
  void bound(MeshPlanOutcome& outcome) const {
    double steps_per_us = 0;
    std::map<std::size_t, double> us_of_kind;
    for (std::int64_t d = 0; d < devices_; ++d) {
      const std::size_t kind = topology_.kind_index(DeviceId(static_cast<std::size_t>(d)));
      const auto [at, is_new] = us_of_kind.try_emplace(kind, 0.0);
      if (is_new) at->second = contractions_us(topology_.kinds()[kind]);
      if (at->second == 0) return;
      steps_per_us += 1 / at->second;
    }
    outcome.lower_bound_us = 1 / steps_per_us;
  }

  double contractions_us(const DeviceKind& kind) const {
    ComputeRates best = rates_;
    best.flops_per_s = kind.flops_per_s;
    best.tail_us = 0;
    double us = 0;
    for (const core::NodeId id : graph_.order()) {
      const NodeWork& node = work_.nodes[id.index()];
      if (graph_.is_constant_expression(id) || !node.is_contraction) continue;
      double times = 1;
      for (const core::TensorId input : graph_.node(id).inputs)
        times += input.valid() && work_.tensors[input.index()].has_gradient ? 1 : 0;
      us += times * best.us(node.data_type, node.flops, 0, true);
    }
    return us;
  }

  static constexpr std::int64_t kMostModel = 64;
  static constexpr std::int64_t kNodesOfStage = 4;
  static constexpr std::int64_t kMostStages = 64;
  static constexpr std::int64_t kMicrobatchesAStage = 4;
  static constexpr int kMostRounds = 12;
  static constexpr std::size_t kShapesAgain = 5;
  static constexpr double kHiddenSums = 0.05;
  static constexpr int kPrices = 6;
  static constexpr std::size_t kPricedAtOnce = 4;
  static constexpr double kHighPrice = 100;

  const core::Graph& graph_;
  const Topology& topology_;
  const MeshPlanOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  core::TaskArena arena_;
  std::int64_t devices_;
  std::int64_t nodes_ = 0;
  std::int64_t batch_ = 1;
  core::DataType weight_type_ = core::DataType::kFloat32;
  GraphLoops loops_;
  StepWork work_;
  ComputeRates rates_;
  double memory_ = 0;
  double sum_weight_ = 1;
  std::map<MeshShape, MeshPlan> tried_;
};

}  // namespace

core::Result<MeshPlanOutcome>
plan_on_meshes(const core::Graph& graph, const std::vector<bool>& is_weight,
               const Topology& topology, const MeshPlanOptions& options,
               core::ProgressSink& progress, const core::StopToken& stop) {
  const auto there_are = static_cast<std::int64_t>(topology.device_count());
  if (options.devices && (*options.devices < 1 || *options.devices > there_are)) {
    return core::invalid_input(fmt::format("{} devices are asked for, {} has {}", *options.devices,
                                           topology.name(), there_are));
  }
  return MeshPlanner(graph, is_weight, topology, options, progress, stop).run();
}

}  // namespace soapstone::parallel
