#include "parallel/planning/mesh_evaluation.h"

#include <algorithm>

#include "parallel/planning/refinement.h"
#include "parallel/sharding/weight_layouts.h"
#include "parallel/step/handovers.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {
namespace {

/// A mesh whose innermost axes count as of one device so far, although devices are there.
Mesh make_mesh(const Topology& topology, const std::vector<std::int64_t>& sizes,
               std::size_t first_axis, std::optional<UnevenAxis> uneven = std::nullopt) {
  std::vector<GroupShape> shapes;
  std::vector<std::int64_t> counted = sizes;
  std::int64_t stride = 1;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (a < first_axis) counted[a] = 1;
    shapes.push_back(shape_of_axis(topology, stride, sizes[a]));
    stride *= sizes[a];
  }
  return Mesh(
      counted,
      [shapes](Collective what, std::size_t axis, double bytes) {
        return best_collective(what, shapes[axis], bytes).us;
      },
      std::move(uneven));
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
  const double states = options.optimizer == Optimizer::kAdam       ? 2
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
  if (options.is_training && options.attention == Attention::kStored)
    selective_work_ = with_attention(graph, work_, Attention::kRecomputed);
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
  order_ = model_order(graph, work_);
  residuals_ = crossing_narrowly(graph, order_);
  weight_type_ = options.precision.value_or(narrowest_weight(is_weight));
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
  sharding.bucket_bytes = std::min(kUsualBucket, weight_bytes_);
  constexpr std::int64_t kFullestStage = 0;
  sharding.kept_microbatches = microbatches_in_flight(shape, kFullestStage);
  sharding.recomputes = shape.recomputes;
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
    const Mesh mesh = make_mesh(topology_, sizes, axis);
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
                       per_microbatch(graph_, loops_,
                                      shape.recomputes_attention ? *selective_work_ : work_,
                                      shape.microbatches),
                       uneven_axis(shape),
                       {shape.model, shape.any, shape.batch}};
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
  plan.bucket_bytes = kUsualBucket;
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
  const Mesh mesh = make_mesh(topology_, context.axis_sizes, 0, context.uneven);
  CostTables tables;
  MeshPlan plan;
  plan.shape = shape;
  plan.sharding =
      best_sharding({graph_, loops_, context.work, mesh, rates_, context.sharding}, tables);
  complete(freedom, context, mesh, plan);
  return plan;
}

bool MeshEvaluator::refine(const Freedom& freedom, double limit_us, MeshPlan& plan) const {
  constexpr std::int64_t kFewNodes = 24;
  if (nodes() > kFewNodes) return false;
  const ShapeContext context = context_of(freedom, plan.shape, {});
  const Mesh mesh = make_mesh(topology_, context.axis_sizes, 0, context.uneven);
  const auto completed = [&](Sharding sharding) {
    MeshPlan other;
    other.shape = plan.shape;
    other.sharding = std::move(sharding);
    complete(freedom, context, mesh, other);
    return other;
  };
  return look_for_faster({{graph_, loops_, context.work, mesh, rates_, context.sharding},
                          order_,
                          plan.uneven ? std::vector<Slowness>() : slowness_of_stages(plan.shape),
                          kUsualBucket,
                          memory_,
                          completed},
                         limit_us, plan);
}

const std::vector<Path>& MeshEvaluator::handovers_of(const MeshShape& shape) const {
  const std::lock_guard lock(handovers_mutex_);
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

StepBound MeshEvaluator::lower_bound() const {
  StepBoundInput input{graph_, {&work_}, {}, options_.part_times, {}};
  if (selective_work_) input.works.push_back(&*selective_work_);
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
  return step_bound(input);
}

/// Of the whole model on one device.
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
