#include "parallel/lowering/step_cuts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "ops/analysis/analysis.h"
#include "parallel/pieces/moved_sums.h"
#include "parallel/pieces/part_graphs.h"

namespace soapstone::parallel {
namespace {

/// Operations that take as long as it takes to move a byte, about, on most devices.
constexpr double kFlopsPerByte = 50;

double bytes_of(const core::Graph& graph, core::TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  return static_cast<double>(core::element_count(*core::concrete(type.shape)) *
                             static_cast<std::int64_t>(core::size_bytes(type.data_type)));
}

/// The bytes that each of so many devices sends, about, to bring a tensor from one use of an axis
/// to another.
double moved_bytes(double bytes, std::int8_t from, std::int8_t to, std::int64_t devices) {
  const double others = bytes * static_cast<double>(devices - 1) / static_cast<double>(devices);
  if (from == kPartial) return to == kPartial ? 0 : to >= 0 ? others : 2 * others;
  if (from < 0 || from == to) return 0;
  return to >= 0 ? others / static_cast<double>(devices) : others;
}

/// Chooses the loops of nodes, one node after the other in topological order.
class LoopChooser {
 public:
  /// All must outlive this. The last axis of `mesh` may be that of microbatches.
  LoopChooser(const core::Graph& graph, const GraphLoops& loops, RankMesh mesh)
      : graph_(graph), loops_(loops), mesh_(std::move(mesh)), parts_(graph, loops),
        layouts_(graph.tensor_bound()) {}

  const Layout& layout(core::TensorId id) const { return layouts_[id.index()]; }
  void set_layout(core::TensorId id, const Layout& layout) { layouts_[id.index()] = layout; }
  /// Asks for a result in a layout.
  void want(core::TensorId id, const Layout& layout) { wanted_[id] = layout; }

  /// The loops that an axis may cut; with a choice, the one that moves the fewest bytes.
  using Candidates = std::vector<std::int8_t>;
  void choose(core::NodeId id, std::size_t axis, const Candidates& candidates, AxisLoops& loops) {
    std::int8_t best = kNoLoop;
    double least = std::numeric_limits<double>::infinity();
    for (const std::int8_t candidate : candidates) {
      AxisLoops tried = loops;
      tried[axis] = candidate;
      if (candidate >= 0 && !can_cut(id, tried, static_cast<std::size_t>(candidate))) continue;
      const double cost = cost_of(id, axis, candidate);
      if (cost < least) std::tie(least, best) = std::pair(cost, candidate);
    }
    loops[axis] = best;
  }

  Candidates all_loops(core::NodeId id) const {
    Candidates all;
    for (std::size_t l = 0; l < spaces(id).size(); ++l) all.push_back(static_cast<std::int8_t>(l));
    return all;
  }
  Candidates batch_loops(core::NodeId id) const {
    Candidates batch = all_loops(id);
    std::erase_if(batch, [&](std::int8_t l) {
      return loops_.origins[id.index()][static_cast<std::size_t>(l)] != Origin::kBatch;
    });
    return batch;
  }

  /// Whether every part has iterations of the loop, and the first and the last one are graphs.
  bool can_cut(core::NodeId id, const AxisLoops& loops, std::size_t l) {
    const ops::Loop& loop = spaces(id)[l];
    if (!loop.between.empty() || !has_digits(loop, loops_.digits)) return false;
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a) {
      if (loops[a] != static_cast<std::int8_t>(l)) continue;
      parts *= mesh_.grains(a);
      if (mesh_.is_uneven(a) && loop.size % parts != 0) return false;
    }
    if (loop.size < parts) return false;
    return parts_.of(id, box_of(id, loops, 0)) &&
           parts_.of(id, box_of(id, loops, mesh_.ranks_of_stage() - 1));
  }

  /// Results of the node lie as its loops leave them.
  void settle(core::NodeId id, const AxisLoops& loops) {
    const core::Node& node = graph_.node(id);
    NodeChoice choice = empty_choice(node);
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (loops[a] >= 0)
        lay_loop(spaces(id)[static_cast<std::size_t>(loops[a])], loops_.digits, a, choice);
      else if (loops[a] == kPassesSums)
        choice.outputs.front().axes[a] = kPartial;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      layouts_[node.outputs[k].index()] = choice.outputs[k];
  }

 private:
  const std::vector<ops::Loop>& spaces(core::NodeId id) const {
    return loops_.spaces[id.index()].loops;
  }

  static NodeChoice empty_choice(const core::Node& node) {
    NodeChoice choice;
    choice.inputs.resize(node.inputs.size());
    choice.outputs.resize(node.outputs.size());
    return choice;
  }

  ops::PartBox box_of(core::NodeId id, const AxisLoops& loops, std::int64_t rank) const {
    ops::PartBox box;
    for (std::size_t l = 0; l < spaces(id).size(); ++l) {
      std::vector<std::size_t> axes;
      for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
        if (loops[a] == static_cast<std::int8_t>(l)) axes.push_back(a);
      box.push_back(mesh_.part(spaces(id)[l].size, axes, mesh_.position_of(rank)));
    }
    return box;
  }

  double cost_of(core::NodeId id, std::size_t axis, std::int8_t loop) const {
    const core::Node& node = graph_.node(id);
    NodeChoice choice = empty_choice(node);
    if (loop >= 0)
      lay_loop(spaces(id)[static_cast<std::size_t>(loop)], loops_.digits, axis, choice);
    const std::int64_t devices = mesh_.axis_size(axis);
    double moved = 0, touched = ops::work_of(graph_, id).flops / kFlopsPerByte;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid() || graph_.is_constant_expression(node.inputs[k])) continue;
      const double bytes = bytes_of(graph_, node.inputs[k]);
      touched += bytes;
      moved += moved_bytes(bytes, layout(node.inputs[k]).axes[axis], choice.inputs[k].axes[axis],
                           devices);
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const double bytes = bytes_of(graph_, node.outputs[k]);
      touched += bytes;
      const std::int8_t made = choice.outputs[k].axes[axis];
      const auto wanted = wanted_.find(node.outputs[k]);
      if (wanted != wanted_.end())
        moved += moved_bytes(bytes, made, wanted->second.axes[axis], devices);
      else if (made == kPartial)
        moved += moved_bytes(bytes, kPartial, 0, devices);
    }
    return moved + touched / static_cast<double>(loop >= 0 ? devices : 1);
  }

  const core::Graph& graph_;
  const GraphLoops& loops_;
  const RankMesh mesh_;
  PartGraphs parts_;
  std::vector<Layout> layouts_;  ///< By tensor.
  std::map<core::TensorId, Layout> wanted_;
};

class StepCutter {
 public:
  StepCutter(const TrainingStep& step, const CutGraph& model, const PlannedCuts& cuts,
             const StepCutOptions& options)
      : step_(step), model_(model), planned_(cuts),
        options_(options), result_{weights_of_step(), {}, cuts} {
    result_.loops = graph_loops(step.graph, result_.is_weight);
    forward_pieces_ = forward_pieces();
  }

  CutStep run() {
    PlannedCuts& cuts = result_.cuts;
    const core::Graph& graph = step_.graph;
    cuts.microbatches = options_.microbatches;
    cuts.is_training = true;
    cuts.loops.assign(graph.node_bound(), AxisLoops{kNoLoop, kNoLoop, kNoLoop, kNoLoop});
    cuts.piece_of_node.assign(graph.node_bound(), -1);
    cuts.directions.assign(graph.node_bound(), Direction::kForward);
    cuts.weights.assign(graph.tensor_bound(), Layout{});
    const bool has_microbatches = options_.microbatches > 1;
    LoopChooser chooser(graph, result_.loops,
                        has_microbatches ? cuts.mesh.with_axis(options_.microbatches) : cuts.mesh);
    lay_weights(chooser);
    for (const core::NodeId id : graph.order()) {
      if (graph.is_constant_expression(id)) continue;
      cuts.directions[id.index()] = direction_of(id);
      cuts.piece_of_node[id.index()] = piece_of(id);
      AxisLoops& loops = cuts.loops[id.index()];
      if (is_planned(id))
        for (std::size_t axis = 0; axis < cuts.mesh.axis_count(); ++axis)
          loops[axis] = std::max(planned_.loops[id.index()][axis], std::int8_t{kNoLoop});
      if (has_microbatches && direction_of(id) != Direction::kBehind)
        chooser.choose(id, cuts.mesh.axis_count(), chooser.batch_loops(id), loops);
      for (std::size_t axis = 0; axis < cuts.mesh.axis_count(); ++axis)
        if (!is_planned(id) && cuts.mesh.axis_size(axis) > 1) cut(id, axis, chooser);
      chooser.settle(id, loops);
    }
    return std::move(result_);
  }

 private:
  std::vector<bool> weights_of_step() const {
    std::vector<bool> is_weight(step_.graph.tensor_bound(), false);
    // A tensor that is computed from weights that are trained is no weight.
    for (std::size_t k = 0; k < model_.is_weight.size(); ++k)
      if (const core::TensorId id(k); model_.is_weight[k] && step_.graph.contains(id))
        is_weight[k] = step_.graph.is_constant_expression(id) || step_.graph.tensor(id).is_input();
    for (const TrainedWeight& weight : step_.weights) {
      is_weight[weight.value.index()] = true;
      for (const core::TensorId state : weight.states) is_weight[state.index()] = true;
    }
    for (const CarriedTensor& carried : step_.carried) is_weight[carried.value.index()] = true;
    return is_weight;
  }

  // --- Weights ---

  void lay_weights(LoopChooser& chooser) {
    PlannedCuts& cuts = result_.cuts;
    for (std::size_t k = 0; k < model_.is_weight.size(); ++k)
      if (result_.is_weight[k]) cuts.weights[k] = translated(planned_.weights[k]);
    for (const TrainedWeight& weight : step_.weights) {
      const Layout layout = translated(planned_.weights[weight.source.index()]);
      cuts.weights[weight.value.index()] = layout;
      replace(weight.updated, weight.value, chooser);
      const Layout of_state = options_.cuts_states ? more_cut(weight.value, layout) : layout;
      for (std::size_t k = 0; k < weight.states.size(); ++k) {
        cuts.weights[weight.states[k].index()] = of_state;
        replace(weight.updated_states[k], weight.states[k], chooser);
      }
    }
    for (const CarriedTensor& carried : step_.carried)
      replace(carried.updated, carried.value, chooser);
    for (std::size_t k = 0; k < cuts.weights.size(); ++k)
      if (result_.is_weight[k]) chooser.set_layout(core::TensorId(k), cuts.weights[k]);
  }

  void replace(core::TensorId updated, core::TensorId input, LoopChooser& chooser) {
    result_.cuts.replaced.emplace(updated, input);
    chooser.want(updated, result_.cuts.weights[input.index()]);
  }

  /// A layout of the model in the digits of the step.
  Layout translated(Layout layout) {
    for (std::int8_t& use : layout.axes) {
      if (use < 0) continue;
      const Digits::Digit digit = model_.loops.digits.digit(use);
      ops::LoopPlace place;
      place.dim = digit.dim;
      place.stride = digit.stride;
      place.period = digit.period;
      use = result_.loops.digits.number(place).value_or(std::int8_t{kReplicated});
    }
    return layout;
  }

  /// Cuts along axes that hold the same, each through the first dimension that is long enough.
  Layout more_cut(core::TensorId id, Layout layout) const {
    const core::Dims dims = *core::concrete(step_.graph.tensor(id).type.shape);
    const RankMesh& mesh = result_.cuts.mesh;
    for (std::size_t axis = 0; axis < mesh.axis_count(); ++axis) {
      if (layout.axes[axis] >= 0 || mesh.axis_size(axis) == 1) continue;
      for (std::size_t d = 0; d < dims.size() && layout.axes[axis] < 0; ++d) {
        std::int64_t parts = mesh.grains(axis);
        for (std::size_t a = 0; a < mesh.axis_count(); ++a)
          if (layout.axes[a] >= 0 && result_.loops.digits.dimension(layout.axes[a]) == d)
            parts *= mesh.grains(a);
        if (dims[d] % parts == 0) layout.axes[axis] = static_cast<std::int8_t>(d);
      }
    }
    return layout;
  }

  // --- Nodes ---

  Direction direction_of(core::NodeId id) const {
    switch (step_.phases[id.index()]) {
    case Phase::kForward:
    case Phase::kLoss:
      return Direction::kForward;
    case Phase::kRecompute:
    case Phase::kBackward:
      return Direction::kBackward;
    case Phase::kUpdate:
      return Direction::kBehind;
    }
    return Direction::kForward;
  }

  bool is_planned(core::NodeId id) const {
    if (step_.phases[id.index()] != Phase::kForward || !model_.graph.contains(id)) return false;
    const auto& ours = result_.loops.spaces[id.index()].loops;
    const auto& theirs = model_.loops.spaces[id.index()].loops;
    return model_.graph.node(id).op == step_.graph.node(id).op &&
           std::ranges::equal(ours, theirs, {}, &ops::Loop::size, &ops::Loop::size);
  }

  /// Pieces of the forward pass, of the plan; what it does not run, such as what makes a weight of
  /// constants, runs where it is read first.
  std::vector<std::int32_t> forward_pieces() const {
    std::vector<std::int32_t> pieces(step_.graph.node_bound(), -1);
    const auto order = step_.graph.order();
    for (std::size_t k = order.size(); k-- > 0;) {
      const core::NodeId id = order[k];
      if (step_.phases[id.index()] != Phase::kForward) continue;
      if (is_planned(id)) pieces[id.index()] = planned_.piece_of_node[id.index()];
      if (pieces[id.index()] >= 0) continue;
      for (const core::TensorId output : step_.graph.node(id).outputs)
        for (const core::NodeId reader : step_.graph.consumers(output)) {
          const std::int32_t piece = pieces[reader.index()];
          std::int32_t& own = pieces[id.index()];
          if (piece >= 0) own = own < 0 ? piece : std::min(own, piece);
        }
    }
    return pieces;
  }

  /// Gradients run where their operator does, and updates where the weight is read first.
  std::int32_t piece_of(core::NodeId id) {
    const std::vector<std::int32_t>& pieces = result_.cuts.piece_of_node;
    if (const std::int32_t piece = forward_pieces_[id.index()]; piece >= 0) {
      for (const core::TensorId input : step_.graph.node(id).inputs)
        if (input.valid() && result_.is_weight[input.index()]) homes_.emplace(input, piece);
      return piece;
    }
    if (const core::NodeId origin = step_.origins[id.index()]; origin.valid())
      return std::max(pieces[origin.index()], std::int32_t{0});
    std::int32_t last = 0;
    for (const core::TensorId input : step_.graph.node(id).inputs) {
      if (!input.valid()) continue;
      const core::NodeId producer = step_.graph.tensor(input).producer;
      if (producer.valid()) last = std::max(last, pieces[producer.index()]);
      if (const auto home = homes_.find(input); home != homes_.end())
        last = std::max(last, home->second);
    }
    return last;
  }

  /// A gradient is cut along the axes that cut its operator, along the batch if its operator is,
  /// and an update along those that cut the weight or its states.
  void cut(core::NodeId id, std::size_t axis, LoopChooser& chooser) {
    if (passes_sums(id, axis, chooser)) {
      result_.cuts.loops[id.index()][axis] = kPassesSums;
      return;
    }
    LoopChooser::Candidates candidates = chooser.all_loops(id);
    const core::NodeId origin = step_.origins[id.index()];
    if (origin.valid()) {
      const std::int8_t loop = result_.cuts.loops[origin.index()][axis];
      if (loop < 0) return;
      if (origin_of(origin, loop) == Origin::kBatch) candidates = chooser.batch_loops(id);
    }
    if (step_.phases[id.index()] == Phase::kUpdate && !updates_pieces(id, axis, chooser)) return;
    if (!origin.valid()) candidates.push_back(kNoLoop);
    chooser.choose(id, axis, candidates, result_.cuts.loops[id.index()]);
  }

  Origin origin_of(core::NodeId id, std::int8_t loop) const {
    return result_.loops.origins[id.index()][static_cast<std::size_t>(loop)];
  }

  /// A node runs before sums are added up if all that it reads are summands of them, and it leaves
  /// summands.
  bool passes_sums(core::NodeId id, std::size_t axis, const LoopChooser& chooser) const {
    return passes_summands(step_.graph, id) &&
           std::ranges::all_of(step_.graph.node(id).inputs, [&](core::TensorId input) {
             return !input.valid() ||
                    !core::is_floating(step_.graph.tensor(input).type.data_type) ||
                    chooser.layout(input).axes[axis] == kPartial;
           });
  }

  bool updates_pieces(core::NodeId id, std::size_t axis, const LoopChooser& chooser) const {
    return std::ranges::any_of(step_.graph.node(id).inputs, [&](core::TensorId input) {
      if (!input.valid() || chooser.layout(input).axes[axis] < 0) return false;
      const core::NodeId producer = step_.graph.tensor(input).producer;
      return producer.valid() ? step_.phases[producer.index()] == Phase::kUpdate
                              : result_.is_weight[input.index()];
    });
  }

  const TrainingStep& step_;
  const CutGraph& model_;
  const PlannedCuts& planned_;
  const StepCutOptions options_;
  CutStep result_;
  std::vector<std::int32_t> forward_pieces_;      ///< By node; −1: of another phase.
  std::map<core::TensorId, std::int32_t> homes_;  ///< The first piece that reads a weight.
};

}  // namespace

std::vector<UncutLoop> uncut_what_has_no_parts(const CutGraph& model, PlannedCuts& cuts) {
  std::vector<UncutLoop> uncut;
  LoopChooser chooser(model.graph, model.loops, cuts.mesh);
  for (const core::NodeId id : model.graph.order()) {
    if (model.graph.is_constant_expression(id)) continue;
    AxisLoops& loops = cuts.loops[id.index()];
    for (std::size_t axis = 0; axis < cuts.mesh.axis_count(); ++axis) {
      if (loops[axis] < 0 || cuts.mesh.axis_size(axis) == 1) continue;
      if (chooser.can_cut(id, loops, static_cast<std::size_t>(loops[axis]))) continue;
      loops[axis] = kNoLoop;
      uncut.push_back({id, axis});
    }
  }
  return uncut;
}

PlannedCuts with_microbatches(const CutGraph& model, PlannedCuts cuts, std::int64_t microbatches) {
  if (microbatches == 1) return cuts;
  cuts.microbatches = microbatches;
  LoopChooser chooser(model.graph, model.loops, cuts.mesh.with_axis(microbatches));
  for (const core::NodeId id : model.graph.order()) {
    if (model.graph.is_constant_expression(id)) continue;
    AxisLoops& loops = cuts.loops[id.index()];
    chooser.choose(id, cuts.mesh.axis_count(), chooser.batch_loops(id), loops);
    chooser.settle(id, loops);
  }
  return cuts;
}

CutStep cut_step(const TrainingStep& step, const CutGraph& model, const PlannedCuts& cuts,
                 const StepCutOptions& options) {
  return StepCutter(step, model, cuts, options).run();
}

}  // namespace soapstone::parallel
