#include "parallel/planning/mesh_evaluation.h"

#include <algorithm>

#include "parallel/planning/refinement.h"
#include "parallel/planning/shape_bound.h"
#include "parallel/sharding/weight_layouts.h"
#include "parallel/step/handovers.h"
#include "parallel/topology/collectives.h"
#include "parallel/work/saved_results.h"

namespace soapstone::parallel {
namespace {

MeshPlan blank(const Freedom& freedom, const MeshShape& shape) {
  MeshPlan plan;
  plan.shape = shape;
  plan.bucket_bytes = freedom.bucket_bytes.value_or(kUsualBucket);
  plan.cuts_states = freedom.cuts_states;
  return plan;
}

ComputeRates rates_of(const DeviceKind& kind) {
  ComputeRates rates;
  rates.flops_per_s = kind.flops_per_s;
  rates.bytes_per_s = kind.memory_bytes_per_s;
  return rates;
}

/// Bytes for a byte of a weight: its gradient; states of the optimizer, with a master copy where
/// weights are narrower than 32 bits.
void set_memory(const MeshPlanOptions& options, core::DataType weights, ShardingOptions& sharding) {
  sharding.gradient_bytes_per_weight_byte = options.is_training ? 1 : 0;
  if (!options.is_training) return;
  const double states = options.optimizer >= Optimizer::kAdam       ? 2
                        : options.optimizer == Optimizer::kMomentum ? 1
                                                                    : 0;
  const auto bytes = static_cast<double>(core::size_bytes(weights));
  constexpr double kStateBytes = 4;
  const double master = bytes < kStateBytes ? 1 : 0;
  sharding.state_bytes_per_weight_byte = (states + master) * kStateBytes / bytes;
}

}  // namespace

MeshEvaluator::MeshEvaluator(const core::Graph& graph, const std::vector<bool>& is_weight,
                             const Topology& topology, const MeshPlanOptions& options)
    : graph_(graph), topology_(topology), options_(options),
      devices_(options.devices.value_or(static_cast<std::int64_t>(topology.device_count()))),
      loops_(graph_loops(graph, is_weight)),
      work_(step_work(graph, is_weight,
                      {options.is_training, options.precision, options.attention})) {
  const DeviceKind& kind = slowest_kind();
  rates_ = rates_of(kind);
  memory_ = options.memory_bytes.value_or(least_memory_bytes());
  if (topology.kinds().size() > 1)
    for (const DeviceKind& other : topology.kinds())
      slowness_.push_back({forward_us(other) / forward_us(kind),
                           kind.memory_bytes_per_s / other.memory_bytes_per_s});
  batch_ = batch_size(is_weight);
  for (const TensorWork& tensor : work_.tensors)
    if (tensor.is_weight) weight_bytes_ += tensor.bytes;
  exchanged_bytes_ = weight_bytes_;
  for (const core::NodeId id : graph.order())
    for (const core::TensorId input : graph.node(id).inputs)
      if (input.valid() && work_.tensors[input.index()].is_weight)
        exchanged_bytes_ += work_.tensors[input.index()].bytes;
  order_ = model_order(graph, work_);
  residuals_ = crossing(graph, order_, order_.is_narrow);
  weight_type_ = options.precision.value_or(narrowest_weight(is_weight));
  if (!options.is_training) return;
  add_recomputation();
  loss_ = loss_region(graph, work_);
}

/// Levels at which less is kept than at those below.
void MeshEvaluator::add_recomputation() {
  const auto kept_bytes = [](const StepWork& work) {
    double bytes = 0;
    for (const TensorWork& tensor : work.tensors) bytes += tensor.is_kept ? tensor.bytes : 0;
    return bytes;
  };
  const std::vector<bool> borders = crossing(graph_, order_, order_.ends_block);
  double least = kept_bytes(work_);
  for (const Recompute what : {Recompute::kAttention, Recompute::kCheap, Recompute::kHalf}) {
    StepWork work = computing_again(graph_, work_, saved_results(graph_, work_, what, borders));
    if (kept_bytes(work) >= least) continue;
    least = kept_bytes(work);
    again_.emplace(what, std::move(work));
  }
  // Each block but the first keeps what crosses to it.
  double all_again = 0;
  for (std::size_t k = 0; k + 1 < order_.nodes.size(); ++k)
    if (order_.ends_block[k]) all_again += order_.crossing_bytes[k];
  can_compute_all_again_ = all_again < least;
}

bool MeshEvaluator::can_recompute(Recompute what) const {
  if (what == Recompute::kNothing) return true;
  return is_training() &&
         (what == Recompute::kAll ? can_compute_all_again_ : again_.contains(what));
}

bool MeshEvaluator::can_cut_loss(const MeshShape& shape) const {
  if (shape.loss_chunks == 1) return true;
  return loss_.rows > 0 && loss_.rows % (shape.microbatches * shape.batch * shape.loss_chunks) == 0;
}

/// A level that differs in nothing from one below it is that one.
const StepWork& MeshEvaluator::work_of(Recompute what) const {
  if (what == Recompute::kAll) return work_;
  const auto above = again_.upper_bound(what);
  return above == again_.begin() ? work_ : std::prev(above)->second;
}

/// Equal parts on unlike devices end when the slowest one ends.
const DeviceKind& MeshEvaluator::slowest_kind() const {
  const DeviceKind* slowest = nullptr;
  for (std::int64_t d = 0; d < devices_; ++d) {
    const DeviceKind& kind = topology_.kind_of(DeviceId(static_cast<std::size_t>(d)));
    if (!slowest || (&kind != slowest && forward_us(kind) > forward_us(*slowest))) slowest = &kind;
  }
  return *slowest;
}

double MeshEvaluator::least_memory_bytes() const {
  double least = kImpossible;
  for (std::int64_t d = 0; d < devices_; ++d)
    least = std::min(least, topology_.kind_of(DeviceId(static_cast<std::size_t>(d))).memory_bytes);
  return least;
}

core::DataType MeshEvaluator::narrowest_weight(const std::vector<bool>& is_weight) const {
  core::DataType narrowest = core::DataType::kFloat32;
  for (std::size_t t = 0; t < is_weight.size(); ++t) {
    if (!is_weight[t]) continue;
    const core::DataType type = graph_.tensor(core::TensorId(t)).type.data_type;
    if (core::size_bytes(type) < core::size_bytes(narrowest)) narrowest = type;
  }
  return narrowest;
}

std::int64_t MeshEvaluator::batch_size(const std::vector<bool>& is_weight) const {
  std::int64_t batch = 0;
  for (const core::TensorId id : graph_.inputs()) {
    const auto dims = core::concrete(graph_.tensor(id).type.shape);
    if (is_weight[id.index()] || !dims || dims->empty()) continue;
    batch = batch == 0 ? (*dims)[0] : std::min(batch, (*dims)[0]);
  }
  return std::max<std::int64_t>(batch, 1);
}

ShardingOptions MeshEvaluator::sharding_options(const Freedom& freedom, const MeshShape& shape,
                                                const MeshWeights& weights) const {
  ShardingOptions sharding;
  sharding.choices.policies = freedom.policies;
  sharding.choices.microbatches = shape.microbatches;
  sharding.is_training = options_.is_training;
  const double often = microbatch_weight(shape);
  sharding.weights = {often, often, weights.sums * often, weights.sums * often, weights.sums};
  sharding.us_per_byte = weights.us_per_byte;
  sharding.most_cases = weights.most_cases;
  sharding.bucket_bytes = std::min(freedom.bucket_bytes.value_or(kUsualBucket), weight_bytes_);
  constexpr std::int64_t kFullestStage = 0;
  sharding.kept_microbatches = microbatches_in_flight(shape, kFullestStage);
  sharding.recomputes = shape.computes_all_again();
  sharding.cuts_states = freedom.cuts_states;
  // With several microbatches the gradients of all are added where they arise.
  sharding.cuts_gradients = freedom.cuts_gradients && shape.microbatches == 1;
  sharding.cuts_weights = freedom.cuts_weights;
  sharding.always_cuts_weights = freedom.always_cuts_weights;
  std::ranges::copy(freedom.weight_axes, sharding.weight_axes.begin());
  sharding.gathers_once = shape.gathers_once;
  sharding.keeps_pieces = freedom.keeps_pieces;
  sharding.choices.cuts_heads = freedom.cuts_heads;
  if (freedom.keeps_residuals_whole) sharding.choices.whole = residuals_;
  set_memory(options_, weight_type_, sharding);
  return sharding;
}

/// The best choices of loops for the outermost axis alone, then for the next, …; what lies within
/// counts as one device of their rate together.
void MeshEvaluator::fix_outer_axes(const StepWork& work, const std::vector<std::int64_t>& sizes,
                                   ShardingOptions& sharding) const {
  ComputeRates rates = rates_;
  sharding.choices.fixed.assign(graph_.node_bound(), kNothingFixed);
  for (std::size_t axis = sizes.size() - 1; axis > 0; --axis) {
    double within = 1;
    for (std::size_t a = 0; a < axis; ++a) within *= static_cast<double>(sizes[a]);
    for (auto& [type, flops] : rates.flops_per_s) flops = within * rates_.flops_per_s.at(type);
    rates.bytes_per_s = within * rates_.bytes_per_s;
    const Mesh mesh = mesh_of(sizes, axis);
    CostTables tables;
    const Sharding found = best_sharding({graph_, loops_, work, mesh, rates, sharding}, tables);
    if (found.cost_us == kImpossible) return;
    for (std::size_t n = 0; n < found.nodes.size(); ++n)
      sharding.choices.fixed[n][axis] = found.nodes[n].loops[axis];
  }
}

MeshEvaluator::ShapeContext MeshEvaluator::context_of(const Freedom& freedom,
                                                      const MeshShape& shape,
                                                      const MeshWeights& weights) const {
  ShapeContext context{sharding_options(freedom, shape, weights),
                       per_microbatch(graph_, loops_, work_of(shape.recompute), shape.microbatches),
                       uneven_axis(shape),
                       {shape.model, shape.any, shape.batch}};
  if (shape.loss_chunks > 1)
    context.work = in_turns(graph_, std::move(context.work), loss_, shape.loss_chunks);
  if (freedom.bisects) fix_outer_axes(context.work, context.axis_sizes, context.sharding);
  // Nobody measures several devices as one.
  context.sharding.choices.part_times = options_.part_times;
  if (context.uneven)
    for (const DeviceKind& kind : topology_.kinds())
      context.sharding.choices.rates_of_kinds.push_back(rates_of(kind));
  return context;
}

void MeshEvaluator::complete(const Freedom& freedom, const ShapeContext& context, const Mesh& mesh,
                             MeshPlan& plan) const {
  plan.axis_sizes = context.axis_sizes;
  plan.uneven = context.uneven;
  if (!broken(freedom.premises, plan).empty()) plan.sharding.cost_us = kImpossible;
  if (plan.sharding.cost_us == kImpossible) return;
  // Parts of uneven cuts are priced at the rates of their own devices.
  time_step(graph_, context.work, order_, options_.is_training,
            {mesh, handovers_of(plan.shape),
             plan.uneven ? std::vector<Slowness>() : slowness_of_stages(plan.shape)},
            plan);
}

MeshPlan MeshEvaluator::plan_at(const Freedom& freedom, const MeshShape& shape,
                                const MeshWeights& weights) const {
  const ShapeContext context = context_of(freedom, shape, weights);
  const Mesh mesh = mesh_of(context.axis_sizes, 0, context.uneven);
  CostTables tables;
  MeshPlan plan = blank(freedom, shape);
  plan.sharding =
      best_sharding({graph_, loops_, context.work, mesh, rates_, context.sharding}, tables);
  complete(freedom, context, mesh, plan);
  return plan;
}

RefinementEffort MeshEvaluator::refine(const Freedom& freedom, double limit_us, std::int64_t most,
                                       MeshPlan& plan) const {
  constexpr std::int64_t kFewNodes = 24;
  if (nodes() > kFewNodes) return {0, false};
  const ShapeContext context = context_of(freedom, plan.shape, {});
  const Mesh mesh = mesh_of(context.axis_sizes, 0, context.uneven);
  const MeshPlan empty = blank(freedom, plan.shape);
  const auto completed = [&](Sharding sharding) {
    MeshPlan other = empty;
    other.sharding = std::move(sharding);
    complete(freedom, context, mesh, other);
    return other;
  };
  return look_for_faster({{graph_, loops_, context.work, mesh, rates_, context.sharding},
                          order_,
                          plan.uneven ? std::vector<Slowness>() : slowness_of_stages(plan.shape),
                          empty.bucket_bytes,
                          memory_,
                          completed},
                         limit_us, most, plan);
}

MeshPlan MeshEvaluator::timed_again(const Freedom& freedom, MeshPlan plan) const {
  const ShapeContext context = context_of(freedom, plan.shape, {});
  complete(freedom, context, mesh_of(context.axis_sizes, 0, context.uneven), plan);
  return plan;
}

/// The innermost axes before `first_axis` count as of one device so far, although devices are
/// there.
Mesh MeshEvaluator::mesh_of(const std::vector<std::int64_t>& sizes, std::size_t first_axis,
                            std::optional<UnevenAxis> uneven) const {
  std::vector<const GroupShape*> groups;
  std::vector<std::int64_t> counted = sizes;
  std::int64_t stride = 1;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (a < first_axis) counted[a] = 1;
    groups.push_back(&group_of(stride, sizes[a]));
    stride *= sizes[a];
  }
  return Mesh(
      counted,
      [groups](Collective what, std::size_t axis, double bytes) {
        return best_collective(what, *groups[axis], bytes).us;
      },
      std::move(uneven));
}

const GroupShape& MeshEvaluator::group_of(std::int64_t stride, std::int64_t count) const {
  const std::lock_guard lock(routes_mutex_);
  const auto [at, is_new] = groups_.try_emplace({stride, count});
  if (is_new) at->second = shape_of_axis(topology_, stride, count);
  return at->second;
}

const std::vector<Path>& MeshEvaluator::handovers_of(const MeshShape& shape) const {
  const std::lock_guard lock(routes_mutex_);
  const bool is_ring = shape.chunks > 1;
  const auto [at, is_new] = handovers_.try_emplace({shape.stages, is_ring});
  if (is_new) at->second = handovers(topology_, devices_, shape.stages, is_ring);
  return at->second;
}

bool MeshEvaluator::can_be_uneven(const MeshShape& shape) const {
  MeshShape uneven = shape;
  uneven.is_uneven = true;
  return uneven_axis(uneven).has_value();
}

/// Shares in proportion to the time of the whole forward pass, in the largest number of grains that
/// divides the samples of a microbatch, up to some for each position. None where a position has
/// devices of several kinds, in one stage or in different ones, or where parts are measured, which
/// are those of even cuts.
std::optional<UnevenAxis> MeshEvaluator::uneven_axis(const MeshShape& shape) const {
  constexpr std::int64_t kGrainsAPosition = 8;
  if (!shape.is_uneven || slowness_.empty() || options_.part_times) return std::nullopt;
  const std::vector<std::int64_t> sizes = {shape.model, shape.any, shape.batch};
  UnevenAxis uneven{sizes.size() - 1, {}, {}};
  while (uneven.axis > 0 && sizes[uneven.axis] == 1) --uneven.axis;
  const std::int64_t of_stage = devices_ / shape.stages, size = sizes[uneven.axis];
  std::vector<double> rates;
  for (std::int64_t d = 0; d < devices_; ++d) {
    const std::size_t kind = topology_.kind_index(DeviceId(static_cast<std::size_t>(d)));
    const auto position = static_cast<std::size_t>(d % of_stage / (of_stage / size));
    if (position == uneven.kinds.size()) {
      uneven.kinds.push_back(kind);
      rates.push_back(1 / slowness_[kind].work);
    }
    if (kind != uneven.kinds[position]) return std::nullopt;
  }
  const std::int64_t samples = batch_ / shape.microbatches;
  std::int64_t grains = std::min(samples, kGrainsAPosition * size);
  while (grains > 1 && samples % grains != 0) --grains;
  uneven.grains = in_proportion(grains, rates);
  const auto [fewest, most] = std::ranges::minmax_element(uneven.grains);
  if (*fewest == 0 || *fewest == *most) return std::nullopt;
  return uneven;
}

/// Each stage is as slow as its slowest device.
std::vector<Slowness> MeshEvaluator::slowness_of_stages(const MeshShape& shape) const {
  if (slowness_.empty()) return {};
  std::vector<Slowness> stages(static_cast<std::size_t>(shape.stages), {0, 0});
  const std::int64_t of_stage = devices_ / shape.stages;
  for (std::int64_t d = 0; d < devices_; ++d) {
    Slowness& stage = stages[static_cast<std::size_t>(d / of_stage)];
    const DeviceId device(static_cast<std::size_t>(d));
    const Slowness& slowness = slowness_[topology_.kind_index(device)];
    stage.work = std::max(stage.work, slowness.work);
    stage.update = std::max(stage.update, slowness.update);
  }
  return stages;
}

/// On an uneven mesh no device takes less than the mean.
Sharding MeshEvaluator::least_sharding(const MeshShape& sizes, const StepWeights& weights) const {
  MeshShape shape = sizes;
  shape.gathers_once = true;
  const Freedom freedom;
  ShapeContext context = context_of(freedom, shape, {});
  context.work = least_work(shape.microbatches);
  const Mesh mesh = mesh_of(context.axis_sizes, 0, context.uneven);
  context.sharding.bucket_bytes = exchanged_bytes_;
  context.sharding.weights = weights;
  if (context.uneven) {
    const std::size_t count = positions_of(mesh, rates_, context.sharding.choices).size();
    context.sharding.weights.positions.assign(count, 1 / static_cast<double>(count));
  }
  CostTables tables;
  return best_sharding({graph_, loops_, context.work, mesh, rates_, context.sharding}, tables);
}

StepWork MeshEvaluator::least_work(std::int64_t microbatches) const {
  return per_microbatch(graph_, loops_, work_, microbatches);
}

StageShares MeshEvaluator::stage_shares(const MeshShape& shape) const {
  StageShares shares{0, 1, kImpossible, 0};
  double rates = 0;
  std::vector<Slowness> slowness =
      shape.is_uneven ? std::vector<Slowness>() : slowness_of_stages(shape);
  slowness.resize(static_cast<std::size_t>(shape.stages));
  for (const Slowness& stage : slowness) {
    rates += 1 / stage.work;
    shares.fastest = std::min(shares.fastest, stage.work);
    shares.updates = std::min(shares.updates, stage.update / stage.work);
  }
  shares.slowest = 1 / rates;
  shares.updates /= rates;
  const std::vector<Path>& paths = handovers_of(shape);
  for (std::size_t s = 0; s < paths.size(); ++s) {
    const bool closes_ring = s + 1 == static_cast<std::size_t>(shape.stages);
    const std::int64_t times = shape.chunks - (closes_ring ? 1 : 0);
    shares.handovers_us += static_cast<double>(times) * paths[s].latency_us;
  }
  return shares;
}

/// Unlike devices end at the same time at best: each kind counts in proportion to what it does of
/// the whole model in a time, and an operator is where it costs least then. The tail of a kernel,
/// which larger parts have less of, is left out.
PassesBound MeshEvaluator::least_passes(const MeshShape& shape, const StepWork& work) const {
  StepBoundInput input = bound_input();
  input.works = {&work};
  const double devices = static_cast<double>(devices_ / shape.stages);
  if (!shape.is_uneven) {
    input.kinds = {{rates_, devices, 1}};
    return passes_bound(input);
  }
  double steps = 0, all = 0;
  for (const BoundedKind& kind : input.kinds) {
    steps += kind.devices / kind.slowness;
    all += kind.devices;
  }
  for (BoundedKind& kind : input.kinds) {
    const double counts = all / kind.slowness / steps;
    for (auto& [type, flops] : kind.rates.flops_per_s) flops /= counts;
    kind.rates.bytes_per_s /= counts;
    kind.rates.tail_us = 0;
    kind.devices *= devices / all;
    kind.slowness = 1;
  }
  return passes_bound(input);
}

double MeshEvaluator::least_step_us(const MeshShape& sizes) const {
  MeshShape shape = sizes;
  // On one stage several microbatches take no less than one.
  if (shape.stages == 1) shape.microbatches = 1;
  const std::lock_guard lock(bounds_mutex_);
  const auto [at, is_new] = least_step_us_.try_emplace(
      std::tuple(shape.stages, shape.microbatches, shape.is_uneven), kImpossible);
  if (!is_new) return at->second;
  const PassesBound passes = least_passes(shape, least_work(shape.microbatches));
  for (const std::int64_t chunks : {1, 2}) {
    shape.chunks = chunks;
    if (chunks > 1 && shape.stages == 1) continue;
    const auto inequalities = step_inequalities(shape, stage_shares(shape), is_training());
    at->second = std::min(at->second, parallel::least_step_us(inequalities, passes));
  }
  return at->second;
}

StepBound MeshEvaluator::lower_bound() const { return step_bound(bound_input()); }

StepBoundInput MeshEvaluator::bound_input() const {
  StepBoundInput input{graph_, {&work_}, {}, options_.part_times, {}};
  std::map<std::size_t, double> devices_of_kind;
  for (std::int64_t d = 0; d < devices_; ++d)
    ++devices_of_kind[topology_.kind_index(DeviceId(static_cast<std::size_t>(d)))];
  for (const auto& [kind, devices] : devices_of_kind)
    input.kinds.push_back(
        {rates_of(topology_.kinds()[kind]), devices, slowness_.empty() ? 1 : slowness_[kind].work});
  std::ranges::stable_sort(input.kinds, std::greater<>(), &BoundedKind::slowness);
  if (options_.is_training) {
    ShardingOptions memory;
    set_memory(options_, weight_type_, memory);
    input.updated_bytes =
        kPassesOverWeights + kPassesOverStates * memory.state_bytes_per_weight_byte;
  }
  return input;
}

/// The whole model's time on one device.
double MeshEvaluator::forward_us(const DeviceKind& kind) const {
  const ComputeRates rates = rates_of(kind);
  double us = 0;
  for (const core::NodeId id : graph_.order()) {
    const NodeWork& node = work_.nodes[id.index()];
    if (graph_.is_constant_expression(id) || node.is_free) continue;
    double bytes = 0;
    for (const auto& tensors : {graph_.node(id).inputs, graph_.node(id).outputs})
      for (const core::TensorId tensor : tensors)
        if (tensor.valid() && work_.tensors[tensor.index()].is_stored)
          bytes += work_.tensors[tensor.index()].bytes;
    us += rates.us(node.data_type, node.flops, bytes, node.is_contraction);
  }
  return std::max(us, 1e-9);
}

}  // namespace soapstone::parallel
