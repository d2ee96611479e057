#include "parallel/lowering/lowering.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "parallel/lowering/exchanges.h"
#include "parallel/lowering/lanes.h"
#include "parallel/lowering/scattered_pieces.h"
#include "parallel/pieces/moved_sums.h"
#include "parallel/pieces/part_graphs.h"
#include "parallel/pieces/piece_graph.h"

namespace soapstone::parallel {
namespace {

class Lowering {
 public:
  Lowering(const core::Graph& graph, const GraphLoops& loops, const std::vector<bool>& is_weight,
           const PlannedCuts& cuts)
      : graph_(graph), loops_(loops), is_weight_(is_weight), cuts_(cuts), lanes_(cuts),
        mesh_(lanes_.mesh()), parts_(graph, loops), exchanges_(lanes_),
        when_(graph.tensor_bound(), When::kAtFirst) {}

  core::Result<std::vector<RankProgram>> run() {
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) SOAPSTONE_RETURN_IF_ERROR(lower_node(id));
    for (const core::TensorId id : graph_.outputs()) SOAPSTONE_RETURN_IF_ERROR(give(id));
    return std::move(exchanges_).finish();
  }

 private:
  /// When a tensor is there: with the first microbatch, a piece with each of them, behind the last.
  enum class When : std::uint8_t { kAtFirst, kPiecewise, kBehind };

  /// When and where a node runs.
  struct Run {
    core::NodeId id;
    std::int32_t piece = 0;
    Direction direction = Direction::kForward;
    When when = When::kAtFirst;  ///< Its results are there.
    std::vector<std::int64_t> lanes;
    std::vector<const NodePart*> parts;  ///< By lane.
    /// Axes along which all floating-point inputs are summands, and the results, too.
    std::vector<std::size_t> passed_axes;
  };

  std::int32_t piece_of(core::NodeId id) const {
    return std::max(cuts_.piece_of_node[id.index()], std::int32_t{0});
  }
  std::int64_t stage_of(core::NodeId id) const { return lanes_.stage_of_piece(piece_of(id)); }

  const std::vector<ops::Loop>& loops_of(core::NodeId id) const {
    return loops_.spaces[id.index()].loops;
  }

  core::Dims dims_of(core::TensorId id) const {
    return *core::concrete(graph_.tensor(id).type.shape);
  }

  std::vector<std::size_t> axes_of(core::NodeId id, std::size_t loop) const {
    std::vector<std::size_t> axes;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (cuts_.loops[id.index()][a] == static_cast<std::int8_t>(loop) && mesh_.axis_size(a) > 1)
        axes.push_back(a);
    return axes;
  }

  // --- Nodes ---

  core::Status lower_node(core::NodeId id) {
    SOAPSTONE_ASSIGN_OR_RETURN(Run run, run_of(id));
    for (const std::int64_t lane : run.lanes) {
      SOAPSTONE_ASSIGN_OR_RETURN(const NodePart* part, parts_.of(id, box_of(id, lane)));
      run.parts.push_back(part);
    }
    run.passed_axes = passed_axes(run);
    const core::Node& node = graph_.node(id);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (core::Status brought = bring(run, k); !brought) return brought.error().at(name_of(node));
    std::vector<Holding> made(node.outputs.size(), Holding(mesh_.rank_count()));
    for (std::size_t k = 0; k < run.lanes.size(); ++k) compute(run, k, made);
    for (std::size_t k = 0; k < made.size(); ++k) {
      const core::TensorId tensor = node.outputs[k];
      when_[tensor.index()] = run.when;
      made[k].partial_axes = run.passed_axes;
      SOAPSTONE_RETURN_IF_ERROR(join(id, k, made[k]));
      holdings_.insert_or_assign(tensor, std::move(made[k]));
    }
    return core::Done{};
  }

  static std::string name_of(const core::Node& node) {
    return node.name.empty() ? std::string(node.op->name) : node.name;
  }

  /// A node that microbatches cut runs for each of them; one that reads their results and is not
  /// cut runs behind all of them; one that depends on neither runs with the first one.
  core::Result<Run> run_of(core::NodeId id) const {
    Run run;
    run.id = id;
    run.piece = piece_of(id);
    if (!cuts_.directions.empty()) run.direction = cuts_.directions[id.index()];
    const std::int64_t stage = stage_of(id);
    When last = run.direction == Direction::kBehind ? When::kBehind : When::kAtFirst;
    for (const core::TensorId input : graph_.node(id).inputs)
      if (input.valid())
        last = std::max(last, is_data(input) ? When::kPiecewise : when_[input.index()]);
    const bool is_cut = lanes_.is_cut(cuts_.loops[id.index()]);
    if (is_cut && last == When::kBehind)
      return core::unsupported(
                 "microbatches read what is known behind all of them, such as a mean over the "
                 "whole batch",
                 "plan with one microbatch")
          .at(name_of(graph_.node(id)));
    if (is_cut) {
      run.lanes = lanes_.of_stage(stage);
      run.when = When::kPiecewise;
    } else if (last == When::kBehind ||
               (last == When::kPiecewise && lanes_.last_microbatch() > 0)) {
      run.lanes = lanes_.of_stage(stage, lanes_.last_microbatch());
      run.direction = Direction::kBehind;
      run.when = When::kBehind;
    } else {
      run.lanes = lanes_.of_stage(stage, 0);
    }
    return run;
  }

  ops::PartBox box_of(core::NodeId id, std::int64_t lane) const {
    ops::PartBox box;
    const std::vector<ops::Loop>& loops = loops_of(id);
    for (std::size_t l = 0; l < loops.size(); ++l)
      box.push_back(mesh_.part(loops[l].size, axes_of(id, l), mesh_.position_of(lane)));
    return box;
  }

  std::size_t pass_of(const Run& run, std::int64_t lane) const {
    return lanes_.pass(lane, run.piece, run.direction);
  }

  void compute(const Run& run, std::size_t number, std::vector<Holding>& made) {
    const core::Node& node = graph_.node(run.id);
    const std::int64_t lane = run.lanes[number];
    const NodePart& part = *run.parts[number];
    std::vector<core::TensorId> operands;
    for (const std::size_t k : part.inputs)
      operands.push_back(operand(lane, pass_of(run, lane), node.inputs[k], part.pieces_read[k]));
    RankWriter& own = exchanges_.writer(lane, pass_of(run, lane));
    const std::vector<core::TensorId> results = append_graph(own.builder(), part.graph, operands);
    for (std::size_t k = 0; k < results.size(); ++k)
      made[k].add(lane, {part.pieces_made[k], own.define(results[k]), std::nullopt});
  }

  /// Says along which axes results are summands. Those of microbatches are added as they come, and
  /// where results are maxima they are joined at once.
  core::Status join(core::NodeId id, std::size_t output, Holding& made) {
    const core::TensorId tensor = graph_.node(id).outputs[output];
    const std::vector<ops::Loop>& loops = loops_of(id);
    std::vector<std::size_t> largest, smallest;
    bool adds_microbatches = false;
    for (std::size_t l = 0; l < loops.size(); ++l)
      for (const std::size_t axis : axes_of(id, l)) {
        const ops::Joined joined = loops[l].joined[output];
        if (joined == ops::Joined::kIndex) continue;
        if (axis != lanes_.microbatch_axis()) {
          if (joined == ops::Joined::kSum) made.partial_axes.push_back(axis);
          if (joined == ops::Joined::kMax) largest.push_back(axis);
          if (joined == ops::Joined::kMin) smallest.push_back(axis);
        } else if (joined == ops::Joined::kSum) {
          adds_microbatches = true;
        } else {
          return core::unsupported("microbatches are joined to something else than a sum",
                                   "plan with one microbatch")
              .at(name_of(graph_.node(id)));
        }
      }
    if (adds_microbatches) {
      exchanges_.accumulate(made);
      when_[tensor.index()] = When::kBehind;
    }
    // A maximum of sums needs the sums first.
    if (!largest.empty() || !smallest.empty()) add_up(tensor, made);
    exchanges_.reduce(tensor, largest, JoinedValues::kMax, made);
    exchanges_.reduce(tensor, smallest, JoinedValues::kMin, made);
    return core::Done{};
  }

  void add_up(core::TensorId tensor, Holding& holding) {
    const std::vector<std::size_t> partial = std::exchange(holding.partial_axes, {});
    exchanges_.reduce(tensor, partial, JoinedValues::kSum, holding);
  }

  // --- Inputs ---

  bool is_held(core::TensorId id) const { return is_weight_[id.index()]; }
  bool is_constant(core::TensorId id) const {
    return !is_held(id) && graph_.is_constant_expression(id);
  }
  bool is_data(core::TensorId id) const { return !is_held(id) && graph_.tensor(id).is_input(); }

  /// Sees to it that all lanes have what their parts read of an input.
  core::Status bring(const Run& run, std::size_t input) {
    const core::TensorId tensor = graph_.node(run.id).inputs[input];
    if (!tensor.valid() || is_constant(tensor) || is_data(tensor)) return core::Done{};
    Demand demand{{},
                  run.piece,
                  run.direction,
                  is_held(tensor) && !cuts_.gathers_once,
                  when_[tensor.index()] == When::kPiecewise && run.when != When::kBehind};
    for (std::size_t k = 0; k < run.lanes.size(); ++k)
      if (std::ranges::find(run.parts[k]->inputs, input) != run.parts[k]->inputs.end())
        demand.pieces.emplace(run.lanes[k], run.parts[k]->pieces_read[input]);
    if (demand.pieces.empty()) return core::Done{};
    if (is_held(tensor)) hold(tensor, stage_of(run.id));
    if (run.passed_axes.empty() || !is_floating(tensor)) complete(run, input);
    return exchanges_.send(tensor, demand, holdings_.at(tensor));
  }

  /// Gives the ranks of a stage their pieces of a weight.
  void hold(core::TensorId tensor, std::int64_t stage) {
    if (!held_.emplace(tensor, stage).second) return;
    Holding& holding = holdings_.try_emplace(tensor, mesh_.rank_count()).first->second;
    const core::DataType type = graph_.tensor(tensor).type.data_type;
    for (const std::int64_t lane : lanes_.of_stage(stage)) {
      const TensorPiece piece = piece_of(tensor, cuts_.weights[tensor.index()], lane);
      const RankValueId value = exchanges_.writer(lane, 0).input(tensor, piece, type);
      holding.add(lane, {piece, value, std::nullopt});
    }
  }

  TensorPiece piece_of(core::TensorId tensor, const Layout& layout, std::int64_t lane) const {
    const core::Dims dims = dims_of(tensor);
    TensorPiece piece = TensorPiece::whole(dims);
    std::map<std::int8_t, std::vector<std::size_t>> axes;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (layout.axes[a] >= 0) axes[layout.axes[a]].push_back(a);
    for (const auto& [number, cutting] : axes) {
      const Digits::Digit digit = loops_.digits.digit(number);
      const std::int64_t size = dims[digit.dim];
      const std::int64_t values = digit.period == 0 ? size : digit.period / digit.stride;
      IndexSet& set = piece.dims[digit.dim];
      set = intersection(set, repeated(size, digit.stride, digit.period,
                                       mesh_.part(values, cutting, mesh_.position_of(lane))));
    }
    return piece;
  }

  bool is_floating(core::TensorId id) const {
    return id.valid() && core::is_floating(graph_.tensor(id).type.data_type);
  }

  /// The axes along which all floating-point inputs of a node are summands, if it passes these on
  /// and each lane has its own; else none.
  std::vector<std::size_t> passed_axes(const Run& run) const {
    if (!passes_summands(graph_, run.id)) return {};
    const core::Node& node = graph_.node(run.id);
    std::optional<std::vector<std::size_t>> passed;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!is_floating(node.inputs[k])) continue;
      const auto held = holdings_.find(node.inputs[k]);
      if (held == holdings_.end()) return {};
      std::vector<std::size_t> axes = held->second.partial_axes;
      std::ranges::sort(axes);
      if ((passed && *passed != axes) || !has_pieces(run, k, held->second)) return {};
      passed = std::move(axes);
    }
    const bool is_planned = passed && std::ranges::all_of(*passed, [&](std::size_t axis) {
                              return cuts_.loops[run.id.index()][axis] == kPassesSums;
                            });
    return is_planned ? *passed : std::vector<std::size_t>();
  }

  /// Whether each lane has all that it reads of an input.
  bool has_pieces(const Run& run, std::size_t input, const Holding& holding) const {
    for (std::size_t k = 0; k < run.lanes.size(); ++k) {
      const std::int64_t lane = run.lanes[k];
      if (std::ranges::find(run.parts[k]->inputs, input) != run.parts[k]->inputs.end() &&
          !holding.find(lane, pass_of(run, lane), run.parts[k]->pieces_read[input]))
        return false;
    }
    return true;
  }

  /// Adds summands before a node reads them: where the node is cut along the tensor each rank gets
  /// its piece of the sum, else all of it.
  void complete(const Run& run, std::size_t input) {
    const core::NodeId reader = run.id;
    const core::TensorId tensor = graph_.node(reader).inputs[input];
    Holding& holding = holdings_.at(tensor);
    if (holding.partial_axes.empty()) return;
    const std::int64_t stage = stage_of(graph_.tensor(tensor).producer);
    std::vector<std::size_t> scattered, reduced;
    std::map<std::size_t, CuttingLoop> loops;
    for (const std::size_t axis : holding.partial_axes) {
      const std::int8_t number = cuts_.loops[reader.index()][axis];
      const auto loop = static_cast<std::size_t>(std::max(number, std::int8_t{0}));
      const ops::LoopPlace* place = number < 0 || stage != stage_of(reader)
                                        ? nullptr
                                        : loops_of(reader)[loop].input_place(input);
      (place ? scattered : reduced).push_back(axis);
      if (place) loops[loop] = {*place, loops_of(reader)[loop].size, axes_of(reader, loop)};
    }
    holding.partial_axes.clear();
    if (!scattered.empty()) {
      std::vector<CuttingLoop> cutting;
      for (auto& [number, loop] : loops) cutting.push_back(std::move(loop));
      std::vector<std::int64_t> lanes = lanes_.of_stage(stage);
      std::erase_if(lanes, [&](std::int64_t lane) { return !holding.has(lane); });
      const PiecesOfLanes pieces =
          scattered_pieces(mesh_, holding, dims_of(tensor), cutting, scattered, lanes);
      exchanges_.scatter(tensor, scattered, pieces, holding);
    }
    exchanges_.reduce(tensor, reduced, JoinedValues::kSum, holding);
  }

  /// A piece of a tensor in the open graph of a pass of a lane's rank, which has it.
  core::TensorId operand(std::int64_t lane, std::size_t pass, core::TensorId tensor,
                         const TensorPiece& piece) {
    RankWriter& own = exchanges_.writer(lane, pass);
    if (is_constant(tensor)) {
      const core::TensorId whole = append_constant(own.builder(), graph_, tensor);
      return take_piece(own.builder(), whole,
                        relative_to(TensorPiece::whole(dims_of(tensor)), piece));
    }
    if (is_data(tensor))
      return own.operand(own.input(tensor, piece, graph_.tensor(tensor).type.data_type));
    const OwnPiece& held = *holdings_.at(tensor).find(lane, pass, piece);
    return take_piece(own.builder(), own.operand(held.value), relative_to(held.piece, piece));
  }

  // --- Results of the model ---

  core::Status give(core::TensorId tensor) {
    if (is_held(tensor)) hold(tensor, 0);
    if (is_data(tensor) || is_constant(tensor)) {
      give_whole(tensor);
      return core::Done{};
    }
    Holding& holding = holdings_.at(tensor);
    add_up(tensor, holding);
    if (const auto replaced = cuts_.replaced.find(tensor); replaced != cuts_.replaced.end())
      return give_back(tensor, replaced->second);
    for (std::int64_t lane = 0; lane < mesh_.rank_count(); ++lane)
      if (holding.has(lane)) add_output(lane, tensor, holding.first(lane));
    return core::Done{};
  }

  void add_output(std::int64_t lane, core::TensorId tensor, const OwnPiece& piece) {
    exchanges_.writer(lane, 0).add_output({tensor, piece.piece, piece.value});
  }

  /// Ranks get the pieces of a result that they have of the input in whose place it comes.
  core::Status give_back(core::TensorId tensor, core::TensorId input) {
    if (std::ranges::none_of(held_, [&](const auto& held) { return held.first == input; }))
      hold(input, stage_of(graph_.tensor(tensor).producer));
    Holding& holding = holdings_.at(tensor);
    const std::int64_t last = lanes_.last_microbatch();
    for (std::int64_t stage = 0; stage < lanes_.stage_count(); ++stage) {
      if (!held_.contains({input, stage})) continue;
      Demand demand{{}, 0, Direction::kBehind, false, false};
      for (const std::int64_t lane : lanes_.of_stage(stage, last))
        demand.pieces.emplace(lane, piece_of(input, cuts_.weights[input.index()], lane));
      SOAPSTONE_RETURN_IF_ERROR(exchanges_.send(tensor, demand, holding));
      for (const auto& [lane, piece] : demand.pieces) {
        const std::size_t pass = lanes_.pass(lane, 0, Direction::kBehind);
        const core::TensorId value = operand(lane, pass, tensor, piece);
        add_output(lane, tensor, {piece, exchanges_.writer(lane, pass).define(value), {}});
      }
    }
    return core::Done{};
  }

  /// An input or a constant that is a result: the first rank gives it.
  void give_whole(core::TensorId tensor) {
    const TensorPiece whole = TensorPiece::whole(dims_of(tensor));
    const core::TensorId value = operand(0, 0, tensor, whole);
    add_output(0, tensor, {whole, exchanges_.writer(0, 0).define(value), {}});
  }

  const core::Graph& graph_;
  const GraphLoops& loops_;
  const std::vector<bool>& is_weight_;
  const PlannedCuts& cuts_;
  const Lanes lanes_;
  const RankMesh& mesh_;  ///< Of lanes.
  PartGraphs parts_;
  Exchanges exchanges_;
  std::map<core::TensorId, Holding> holdings_;
  std::set<std::pair<core::TensorId, std::int64_t>>
      held_;                ///< Weights, with stages that have them.
  std::vector<When> when_;  ///< By tensor.
};

}  // namespace

PlannedCuts cuts_of(const MeshPlan& plan) {
  PlannedCuts cuts{RankMesh(plan.shape.stages, plan.axis_sizes, plan.uneven)};
  cuts.chunks = plan.shape.chunks;
  cuts.weights = plan.sharding.tensors;
  cuts.piece_of_node = plan.piece_of_node;
  cuts.gathers_once = plan.shape.gathers_once;
  for (const NodeChoice& choice : plan.sharding.nodes) cuts.loops.push_back(choice.loops);
  return cuts;
}

core::Result<std::vector<RankProgram>> lower(const core::Graph& graph, const GraphLoops& loops,
                                             const std::vector<bool>& is_weight,
                                             const PlannedCuts& cuts) {
  return Lowering(graph, loops, is_weight, cuts).run();
}

}  // namespace soapstone::parallel
