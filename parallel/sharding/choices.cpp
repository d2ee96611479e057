#include "parallel/sharding/choices.h"

#include <algorithm>
#include <optional>

#include "ops/definition/registry.h"
#include "parallel/sharding/part_times.h"
#include "parallel/sharding/weight_loops.h"

namespace soapstone::parallel {
namespace {

class ChoiceMaker {
 public:
  ChoiceMaker(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
              const StepWork& work, const Mesh& mesh, const ComputeRates& rates,
              const ChoiceOptions& options)
      : id_(node), node_(graph.node(node)), own_(work.nodes[node.index()]), work_(work),
        weights_(graph, node, loops, work), mesh_(mesh), rates_(rates), options_(options),
        loops_of_graph_(loops), loops_(loops.spaces[node.index()].loops),
        origins_(loops.origins[node.index()]),
        fixed_(options.fixed.empty() ? kNothingFixed : options.fixed[node.index()]) {
    const ops::OpDefinition* definition = ops::definition_of(node_);
    passes_sums_ = definition && (definition->op_class == ops::OpClass::kView ||
                                  definition->op_class == ops::OpClass::kMovement);
  }

  NodeChoices all() {
    extend(0);
    const bool obeys = !choices_.empty();
    if (!obeys) {
      may_leave_batch_ = true;
      extend(0);
    }
    return {std::move(choices_), obeys};
  }

 private:
  void extend(std::size_t axis) {
    if (axis >= mesh_.axis_count()) return finish();
    if (fixed_[axis] != kFree) {
      now_.loops[axis] = fixed_[axis];
      return extend(axis + 1);
    }
    now_.loops[axis] = kNoLoop;
    if (may_leave_batch_ || !must_cut(axis)) {
      extend(axis + 1);
      if (passes_sums_ && mesh_.axis_sizes()[axis] > 1) {
        now_.loops[axis] = kPassesSums;
        extend(axis + 1);
      }
    }
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      if (!may_cut(axis, l)) continue;
      now_.loops[axis] = static_cast<std::int8_t>(l);
      extend(axis + 1);
    }
    now_.loops[axis] = kNoLoop;
  }

  bool must_cut(std::size_t axis) const {
    if (mesh_.axis_sizes()[axis] == 1) return false;
    const AxisPolicy policy = options_.policies[axis];
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (policy == AxisPolicy::kBatchAlways ? origins_[l] == Origin::kBatch : is_wanted(policy, l))
        return true;
    return false;
  }

  /// Whether strategies that tell weights apart want the loop cut, if the node has a weight.
  bool is_wanted(AxisPolicy policy, std::size_t l) const {
    if (!weights_.has_weight()) return false;
    const bool is_batch = origins_[l] == Origin::kBatch;
    if (policy == AxisPolicy::kExperts)
      return weights_.experts() > 0 ? weights_.is_over_experts(l) : is_batch;
    if (policy != AxisPolicy::kPositions) return false;
    return weights_.meets_once() ? weights_.is_over_outputs(l) : weights_.meets_often() && is_batch;
  }

  bool may_cut(std::size_t axis, std::size_t l) const {
    if (mesh_.axis_sizes()[axis] == 1 || !has_digits(loops_[l])) return false;
    const Origin origin = origins_[l];
    switch (options_.policies[axis]) {
    case AxisPolicy::kAny:
      return true;
    case AxisPolicy::kBatch:
    case AxisPolicy::kBatchAlways:
      return origin == Origin::kBatch;
    case AxisPolicy::kNoBatch:
      return origin != Origin::kBatch;
    case AxisPolicy::kModel:
      return origin == Origin::kOther;
    case AxisPolicy::kSequence:
      return origin == Origin::kSequence;
    case AxisPolicy::kPositions:
    case AxisPolicy::kExperts:
      return may_leave_batch_ || !must_cut(axis) || is_wanted(options_.policies[axis], l);
    }
    return false;
  }

  /// The time of the slowest part over that of all on one of the slowest devices; none if sizes
  /// cannot be divided well enough.
  std::optional<double> share(std::size_t l) const {
    std::int64_t parts = 1;
    double rate = 1;
    bool is_uneven = false;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) {
      if (now_.loops[a] != static_cast<std::int8_t>(l)) continue;
      rate *= mesh_.rate(a);
      if (mesh_.uneven() && mesh_.uneven()->axis == a)
        is_uneven = true;
      else
        parts *= mesh_.axis_sizes()[a];
    }
    if (parts == 1 && !is_uneven) return 1;
    const ops::Loop& loop = loops_[l];
    const std::int64_t size =
        origins_[l] == Origin::kBatch ? loop.size / options_.microbatches : loop.size;
    const auto longest = is_uneven ? longest_uneven(size, parts) : longest_even(size, parts);
    if (!longest) return std::nullopt;
    const double result = *longest / static_cast<double>(size);
    if (result * rate > options_.most_imbalance) return std::nullopt;
    return result;
  }

  /// Iterations of the largest of so many parts.
  static std::optional<double> longest_even(std::int64_t size, std::int64_t parts) {
    if (size < parts) return std::nullopt;
    return static_cast<double>((size + parts - 1) / parts);
  }

  /// The same where what each position on the uneven axis gets is cut in so many parts; those of
  /// fast devices count for less.
  std::optional<double> longest_uneven(std::int64_t size, std::int64_t parts) const {
    const std::vector<double>& rates = mesh_.uneven()->rates;
    const std::vector<std::int64_t> shares = in_proportion(size, rates);
    double longest = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const auto part = longest_even(shares[k], parts);
      if (!part) return std::nullopt;
      longest = std::max(longest, *part / rates[k]);
    }
    return longest;
  }

  void finish() {
    double part = 1;
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      const std::optional<double> cut = share(l);
      if (!cut) return;
      part *= *cut;
    }
    now_.inputs.assign(node_.inputs.size(), Layout{});
    now_.outputs.assign(node_.outputs.size(), Layout{});
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) lay(a);
    price(part);
    choices_.push_back(now_);
  }

  bool has_digits(const ops::Loop& loop) const {
    const auto has = [&](const ops::LoopPlace& place) {
      return loops_of_graph_.digits.find(place).has_value();
    };
    return std::all_of(loop.follows.begin(), loop.follows.end(), has) &&
           std::all_of(loop.outputs.begin(), loop.outputs.end(), has);
  }

  /// What one cut axis asks and makes.
  void lay(std::size_t axis) {
    if (now_.loops[axis] == kPassesSums) {
      for (Layout& input : now_.inputs) input.axes[axis] = kBroadcast;
      for (Layout& output : now_.outputs) output.axes[axis] = kBroadcast;
    }
    if (now_.loops[axis] < 0) return;
    const ops::Loop& loop = loops_[static_cast<std::size_t>(now_.loops[axis])];
    for (Layout& input : now_.inputs) input.axes[axis] = kBroadcast;
    for (const std::size_t once : loop.once) now_.inputs[once].axes[axis] = kReplicated;
    for (const ops::LoopPlace& place : loop.follows)
      now_.inputs[place.tensor].axes[axis] = *loops_of_graph_.digits.find(place);
    for (std::size_t k = 0; k < now_.outputs.size(); ++k) {
      std::int8_t& use = now_.outputs[k].axes[axis];
      const ops::LoopPlace* place = loop.output_place(k);
      if (place)
        use = *loops_of_graph_.digits.find(*place);
      else
        use = loop.joined[k] == ops::Joined::kSum ? kPartial : kReplicated;
    }
  }

  /// What parts have to join before the node is done: stages in between, maxima of the results.
  Conversion joins() const {
    Conversion total;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) {
      if (now_.loops[a] < 0) continue;
      const ops::Loop& loop = loops_[static_cast<std::size_t>(now_.loops[a])];
      for (const ops::StageJoin& join : loop.between)
        total.us += mesh_.us(Collective::kAllReduce, a,
                             static_cast<double>(join.elements) * element_bytes() / other_parts(a));
      for (std::size_t k = 0; k < node_.outputs.size(); ++k)
        if (loop.joined[k] == ops::Joined::kMax || loop.joined[k] == ops::Joined::kMin)
          total.us +=
              mesh_.us(Collective::kAllReduce, a, local_bytes(node_.outputs[k], now_.outputs[k]));
    }
    return total;
  }

  double element_bytes() const { return static_cast<double>(core::size_bytes(own_.data_type)); }

  /// Parts that cuts along other axes make.
  double other_parts(std::size_t axis) const {
    double parts = 1;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (a != axis && now_.loops[a] >= 0) parts *= static_cast<double>(mesh_.axis_sizes()[a]);
    return parts;
  }

  /// Rows of the neighbors that windows reach into: exchanged along the axis.
  double halo_us() const {
    double us = 0;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) {
      if (now_.loops[a] < 0) continue;
      const ops::Loop& loop = loops_[static_cast<std::size_t>(now_.loops[a])];
      for (const ops::LoopPlace& place : loop.follows) {
        const std::int64_t reach = place.window.high - place.window.low - place.stride;
        const core::TensorId input = node_.inputs[place.tensor];
        if (reach <= 0 || place.divisor != 1 || place.period != 0) continue;
        const double part = local_bytes(input, now_.inputs[place.tensor]);
        const double rows = static_cast<double>(loop.size * place.stride) /
                            static_cast<double>(mesh_.axis_sizes()[a]);
        us += mesh_.us(Collective::kAllToAll, a, part * static_cast<double>(reach) / rows);
      }
    }
    return us;
  }

  /// Of the largest piece.
  double local_bytes(core::TensorId id, const Layout& layout) const {
    return work_.tensors[id.index()].bytes / mesh_.memory_pieces(layout);
  }
  /// Bytes that one of the slowest devices passes in the time that any needs for its piece.
  double traffic_bytes(core::TensorId id, const Layout& layout) const {
    return work_.tensors[id.index()].bytes / mesh_.time_pieces(layout);
  }

  void price(double part) {
    now_.forward_us = now_.backward_us = 0;
    const double exchange_us = joins().us + halo_us();
    now_.forward_us = exchange_us;
    if (own_.is_free) return;
    const double flops = own_.flops * part;
    double traffic = 0, gradients = 0, kept = 0;
    int sought = 0;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      if (!node_.inputs[k].valid()) continue;
      const TensorWork& input = work_.tensors[node_.inputs[k].index()];
      const double bytes = traffic_bytes(node_.inputs[k], now_.inputs[k]);
      if (input.is_stored) traffic += bytes;
      if (input.is_kept) kept += bytes;
      if (!input.has_gradient) continue;
      gradients += bytes;
      ++sought;
    }
    double results = 0, arriving = 0;
    for (std::size_t k = 0; k < node_.outputs.size(); ++k) {
      const TensorWork& output = work_.tensors[node_.outputs[k].index()];
      const double bytes = traffic_bytes(node_.outputs[k], now_.outputs[k]);
      if (output.is_stored) results += bytes;
      if (output.has_gradient) arriving += bytes;
    }
    const core::DataType type = own_.data_type;
    const double launch_us = own_.starts_launch ? rates_.launch_us : 0;
    const double estimate_us =
        launch_us + rates_.us(type, flops, traffic + results, own_.is_contraction);
    const double kernel_us = measured(estimate_us);
    now_.forward_us += kernel_us;
    if (arriving == 0 || sought == 0) return;
    now_.backward_us = exchange_us + (own_.runs_again ? now_.forward_us : 0);
    // One contraction of the same size for each gradient.
    const double gradients_us =
        own_.is_contraction
            ? sought * (launch_us + rates_.us(type, flops, traffic + arriving, true))
            : launch_us + rates_.us(type, flops, kept + arriving + gradients, false);
    now_.backward_us += gradients_us * (kernel_us / estimate_us);
  }

  /// What is done within the launch of another node is estimated in any case.
  double measured(double estimate_us) const {
    if (!options_.part_times || !own_.starts_launch) return estimate_us;
    const auto lengths =
        part_lengths(loops_, origins_, now_.loops, mesh_.axis_sizes(), options_.microbatches);
    return options_.part_times->forward_us(id_, lengths, estimate_us);
  }

  const core::NodeId id_;
  const core::Node& node_;
  const NodeWork& own_;
  const StepWork& work_;
  const WeightLoops weights_;
  const Mesh& mesh_;
  const ComputeRates& rates_;
  const ChoiceOptions& options_;
  const GraphLoops& loops_of_graph_;
  const std::vector<ops::Loop>& loops_;
  const std::vector<Origin>& origins_;
  const AxisLoops fixed_;
  bool passes_sums_ = false;
  bool may_leave_batch_ = false;
  NodeChoice now_;
  std::vector<NodeChoice> choices_;
};

}  // namespace

NodeChoices node_choices(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
                         const StepWork& work, const Mesh& mesh, const ComputeRates& rates,
                         const ChoiceOptions& options) {
  return ChoiceMaker(graph, node, loops, work, mesh, rates, options).all();
}

}  // namespace soapstone::parallel
