#include "parallel/sharding/choices.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ops/definition/registry.h"
#include "parallel/sharding/part_times.h"
#include "parallel/work/weight_loops.h"

namespace soapstone::parallel {
namespace {

class ChoiceMaker {
 public:
  ChoiceMaker(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
              const StepWork& work, const Mesh& mesh, const ComputeRates& rates,
              const ChoiceOptions& options)
      : id_(node), node_(graph.node(node)), own_(work.nodes[node.index()]), work_(work),
        weights_(graph, node, loops, work), mesh_(mesh),
        positions_(positions_of(mesh, rates, options)), options_(options), loops_of_graph_(loops),
        loops_(loops.spaces[node.index()].loops), origins_(loops.origins[node.index()]),
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
    if (is_over_heads(axis)) return true;
    const AxisPolicy policy = options_.policies[axis];
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (policy == AxisPolicy::kBatchAlways ? origins_[l] == Origin::kBatch : is_wanted(policy, l))
        return true;
    return false;
  }

  /// Whether the innermost axis cuts heads, or a weight.
  bool is_over_heads(std::size_t axis) const {
    return axis == 0 && options_.cuts_heads &&
           (own_.scores_attention || (own_.is_contraction && weights_.has_weight()));
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
    if (mesh_.axis_sizes()[axis] == 1 || !has_digits(loops_[l], loops_of_graph_.digits))
      return false;
    if (axis == 0 && cuts_whole(l)) return false;
    const Origin origin = origins_[l];
    if (is_over_heads(axis))
      return origin == Origin::kOther && (loops_[l].is_index() || !own_.scores_attention);
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

  /// Whether the loop cuts a result that has to be whole.
  bool cuts_whole(std::size_t l) const {
    return !options_.whole.empty() &&
           std::ranges::any_of(loops_[l].outputs, [&](const ops::LoopPlace& place) {
             return options_.whole[node_.outputs[place.tensor].index()];
           });
  }

  /// The largest part's share of a loop's iterations at a position; none if it cannot be cut
  /// well enough.
  std::optional<double> share(std::size_t l, const Position& position) const {
    std::int64_t parts = 1;
    bool is_uneven = false;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) {
      if (now_.loops[a] != static_cast<std::int8_t>(l)) continue;
      is_uneven |= mesh_.is_uneven(a);
      if (!mesh_.is_uneven(a)) parts *= mesh_.axis_sizes()[a];
    }
    const ops::Loop& loop = loops_[l];
    const std::int64_t size =
        origins_[l] == Origin::kBatch ? loop.size / options_.microbatches : loop.size;
    std::int64_t here = size;
    if (is_uneven) {
      const std::int64_t grains = mesh_.uneven()->all_grains();
      if (size % grains != 0) return std::nullopt;
      here = size / grains * position.grains;
    }
    if (here < parts) return std::nullopt;
    const std::int64_t largest = (here + parts - 1) / parts;
    if (static_cast<double>(largest * parts) > options_.most_imbalance * static_cast<double>(here))
      return std::nullopt;
    return static_cast<double>(largest) / static_cast<double>(size);
  }

  /// The share of each loop that the largest part at a position has.
  using Shares = std::vector<double>;

  void finish() {
    std::vector<Shares> parts;
    for (const Position& position : positions_) {
      Shares& shares = parts.emplace_back();
      for (std::size_t l = 0; l < loops_.size(); ++l) {
        const std::optional<double> cut = share(l, position);
        if (!cut) return;
        shares.push_back(*cut);
      }
    }
    now_.inputs.assign(node_.inputs.size(), Layout{});
    now_.outputs.assign(node_.outputs.size(), Layout{});
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) lay(a);
    price(parts);
    choices_.push_back(now_);
  }

  /// What one cut axis asks and makes.
  void lay(std::size_t axis) {
    if (now_.loops[axis] == kPassesSums) {
      for (Layout& input : now_.inputs) input.axes[axis] = kBroadcast;
      for (Layout& output : now_.outputs) output.axes[axis] = kBroadcast;
    }
    if (now_.loops[axis] < 0) return;
    lay_loop(loops_[static_cast<std::size_t>(now_.loops[axis])], loops_of_graph_.digits, axis,
             now_);
  }

  /// What parts have to join before the node is done: stages in between, maxima of the results.
  Conversion joins() const {
    Conversion total;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) {
      if (now_.loops[a] < 0) continue;
      const ops::Loop& loop = loops_[static_cast<std::size_t>(now_.loops[a])];
      for (const ops::StageJoin& join : loop.between)
        total.us += mesh_.us(Collective::kAllReduce, a,
                             static_cast<double>(join.elements) * element_bytes() * other_parts(a));
      for (std::size_t k = 0; k < node_.outputs.size(); ++k)
        if (loop.joined[k] == ops::Joined::kMax || loop.joined[k] == ops::Joined::kMin)
          total.us +=
              mesh_.us(Collective::kAllReduce, a, local_bytes(node_.outputs[k], now_.outputs[k]));
    }
    return total;
  }

  double element_bytes() const { return static_cast<double>(core::size_bytes(own_.data_type)); }

  /// The largest share that cuts along other axes leave.
  double other_parts(std::size_t axis) const {
    double part = 1;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (a != axis && now_.loops[a] >= 0) part *= mesh_.largest_share(a);
    return part;
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
        const double rows = static_cast<double>(loop.size * place.stride) * largest_part(a);
        us += mesh_.us(Collective::kAllToAll, a, part * static_cast<double>(reach) / rows);
      }
    }
    return us;
  }

  /// The share of the loop that the axis cuts, with other axes that cut it.
  double largest_part(std::size_t axis) const {
    double part = 1;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (now_.loops[a] == now_.loops[axis]) part *= mesh_.largest_share(a);
    return part;
  }

  /// The largest piece's.
  double local_bytes(core::TensorId id, const Layout& layout) const {
    return work_.tensors[id.index()].bytes * mesh_.largest_piece(layout);
  }
  /// A kernel reads this of an input, and writes that of a result: the elements that its part of
  /// each loop meets.
  double read_bytes(const Shares& shares, std::size_t input) const {
    double bytes = work_.tensors[node_.inputs[input].index()].bytes;
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (loops_[l].input_place(input)) bytes *= shares[l];
    return bytes;
  }
  double written_bytes(const Shares& shares, std::size_t output) const {
    double bytes = work_.tensors[node_.outputs[output].index()].bytes;
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (loops_[l].output_place(output)) bytes *= shares[l];
    return bytes;
  }

  /// `parts`: the shares of loops, by position.
  void price(const std::vector<Shares>& parts) {
    const double exchange_us = joins().us + halo_us();
    now_.forward_us = exchange_us;
    now_.backward_us = 0;
    now_.by_position.clear();
    if (own_.is_free) return;
    std::vector<PartTime> times;
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      const KernelTimes here = kernels(*positions_[p].rates, parts[p]);
      PartTime& time = times.emplace_back(PartTime{exchange_us + here.forward_us, 0});
      if (here.backward_us == 0) continue;
      time.backward_us = exchange_us + (own_.runs_again ? time.forward_us : 0) + here.backward_us;
    }
    const PartTime whole = shares_batch() ? mean(times) : longest(times);
    now_.forward_us = whole.forward_us;
    now_.backward_us = whole.backward_us;
    if (times.size() > 1) now_.by_position = std::move(times);
  }

  bool shares_batch() const {
    if (!mesh_.uneven()) return false;
    const std::int8_t loop = now_.loops[mesh_.uneven()->axis];
    return loop >= 0 && origins_[static_cast<std::size_t>(loop)] == Origin::kBatch;
  }

  static PartTime mean(const std::vector<PartTime>& times) {
    PartTime sum;
    for (const PartTime& time : times) {
      sum.forward_us += time.forward_us / static_cast<double>(times.size());
      sum.backward_us += time.backward_us / static_cast<double>(times.size());
    }
    return sum;
  }

  static PartTime longest(const std::vector<PartTime>& times) {
    PartTime most;
    for (const PartTime& time : times) {
      most.forward_us = std::max(most.forward_us, time.forward_us);
      most.backward_us = std::max(most.backward_us, time.backward_us);
    }
    return most;
  }

  struct KernelTimes {
    double forward_us = 0;
    double backward_us = 0;  ///< 0: there is no gradient.
  };

  /// In each of its turns a node has its share of all but the weights.
  KernelTimes kernels(const ComputeRates& rates, const Shares& shares) const {
    double flops = own_.flops / own_.turns;
    for (const double share : shares) flops *= share;
    double traffic = 0, gradients = 0, kept = 0;
    int sought = 0;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      if (!node_.inputs[k].valid()) continue;
      const TensorWork& input = work_.tensors[node_.inputs[k].index()];
      const double bytes = read_bytes(shares, k) / (input.is_weight ? 1 : own_.turns);
      if (input.is_stored) traffic += bytes;
      if (k < own_.gradient_reads.size() && own_.gradient_reads[k]) kept += bytes;
      if (!input.has_gradient) continue;
      gradients += bytes;
      ++sought;
    }
    double results = 0, arriving = 0;
    for (std::size_t k = 0; k < node_.outputs.size(); ++k) {
      const TensorWork& output = work_.tensors[node_.outputs[k].index()];
      const double bytes = written_bytes(shares, k) / own_.turns;
      if (output.is_stored) results += bytes;
      if (output.has_gradient) arriving += bytes;
      if (own_.gradient_reads_result) kept += bytes;
    }
    const core::DataType type = own_.data_type;
    const double launch_us = own_.starts_launch ? rates.launch_us : 0;
    const double estimate_us =
        own_.turns * (launch_us + rates.us(type, flops, traffic + results, own_.is_contraction));
    KernelTimes times{measured(estimate_us), 0};
    if (arriving == 0 || sought == 0) return times;
    // One contraction of the same size for each gradient.
    times.backward_us =
        own_.turns * (own_.is_contraction
                          ? sought * (launch_us + rates.us(type, flops, traffic + arriving, true))
                          : launch_us + rates.us(type, flops, kept + arriving + gradients, false));
    if (estimate_us > 0) times.backward_us *= times.forward_us / estimate_us;
    return times;
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
  const std::vector<Position> positions_;
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

bool has_digits(const ops::Loop& loop, const Digits& digits) {
  const auto has = [&](const ops::LoopPlace& place) { return digits.find(place).has_value(); };
  return std::all_of(loop.follows.begin(), loop.follows.end(), has) &&
         std::all_of(loop.outputs.begin(), loop.outputs.end(), has);
}

void lay_loop(const ops::Loop& loop, const Digits& digits, std::size_t axis, NodeChoice& choice) {
  for (Layout& input : choice.inputs) input.axes[axis] = kBroadcast;
  for (const std::size_t once : loop.once) choice.inputs[once].axes[axis] = kReplicated;
  for (const ops::LoopPlace& place : loop.follows)
    choice.inputs[place.tensor].axes[axis] = *digits.find(place);
  for (std::size_t k = 0; k < choice.outputs.size(); ++k) {
    const ops::LoopPlace* place = loop.output_place(k);
    std::int8_t& use = choice.outputs[k].axes[axis];
    if (place)
      use = *digits.find(*place);
    else
      use = loop.joined[k] == ops::Joined::kSum ? kPartial : kReplicated;
  }
}

std::vector<Position> positions_of(const Mesh& mesh, const ComputeRates& rates,
                                   const ChoiceOptions& options) {
  if (!mesh.uneven()) return {{1, 1, &rates}};
  const UnevenAxis& uneven = *mesh.uneven();
  std::vector<Position> positions;
  std::set<std::pair<std::int64_t, std::size_t>> known;
  for (std::size_t k = 0; k < uneven.grains.size(); ++k)
    if (known.emplace(uneven.grains[k], uneven.kinds[k]).second)
      positions.push_back(
          {uneven.share(k), uneven.grains[k], &options.rates_of_kinds[uneven.kinds[k]]});
  return positions;
}

NodeChoices node_choices(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
                         const StepWork& work, const Mesh& mesh, const ComputeRates& rates,
                         const ChoiceOptions& options) {
  return ChoiceMaker(graph, node, loops, work, mesh, rates, options).all();
}

}  // namespace soapstone::parallel
