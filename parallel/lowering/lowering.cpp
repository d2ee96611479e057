#include "parallel/lowering/lowering.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "parallel/lowering/part_graphs.h"
#include "parallel/lowering/piece_graph.h"
#include "parallel/lowering/scattered_pieces.h"

namespace soapstone::parallel {
namespace {

class Lowering {
 public:
  Lowering(const core::Graph& graph, const GraphLoops& loops, const std::vector<bool>& is_weight,
           const PlannedCuts& cuts)
      : graph_(graph), loops_(loops), is_weight_(is_weight), cuts_(cuts), mesh_(cuts.mesh),
        parts_(graph, loops), exchanges_(mesh_) {}

  core::Result<std::vector<RankProgram>> run() {
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) SOAPSTONE_RETURN_IF_ERROR(lower_node(id));
    for (const core::TensorId id : graph_.outputs()) give(id);
    return std::move(exchanges_).finish();
  }

 private:
  using Ranks = std::vector<std::int64_t>;

  Ranks ranks_of(std::int64_t stage) const {
    Ranks ranks;
    for (std::int64_t r = 0; r < mesh_.ranks_of_stage(); ++r)
      ranks.push_back(mesh_.first_rank(stage) + r);
    return ranks;
  }

  std::int64_t stage_of(core::NodeId id) const {
    return std::max(cuts_.piece_of_node[id.index()], std::int32_t{0});
  }

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
    const Ranks ranks = ranks_of(stage_of(id));
    std::vector<const NodePart*> parts;
    for (const std::int64_t rank : ranks) {
      SOAPSTONE_ASSIGN_OR_RETURN(const NodePart* part, parts_.of(id, box_of(id, rank)));
      parts.push_back(part);
    }
    const core::Node& node = graph_.node(id);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) bring(id, k, ranks, parts);
    std::vector<Holding> made(node.outputs.size(), Holding(mesh_.rank_count()));
    for (std::size_t r = 0; r < ranks.size(); ++r) compute(id, ranks[r], *parts[r], made);
    for (std::size_t k = 0; k < made.size(); ++k) {
      join(id, k, made[k]);
      holdings_.insert_or_assign(node.outputs[k], std::move(made[k]));
    }
    return core::Done{};
  }

  ops::PartBox box_of(core::NodeId id, std::int64_t rank) const {
    ops::PartBox box;
    const std::vector<ops::Loop>& loops = loops_of(id);
    for (std::size_t l = 0; l < loops.size(); ++l)
      box.push_back(mesh_.part(loops[l].size, axes_of(id, l), mesh_.position_of(rank)));
    return box;
  }

  void compute(core::NodeId id, std::int64_t rank, const NodePart& part,
               std::vector<Holding>& made) {
    const core::Node& node = graph_.node(id);
    RankWriter& own = exchanges_.writer(rank);
    std::vector<core::TensorId> operands;
    for (const std::size_t k : part.inputs)
      operands.push_back(operand(rank, node.inputs[k], part.pieces_read[k]));
    const std::vector<core::TensorId> results = append_graph(own.builder(), part.graph, operands);
    for (std::size_t k = 0; k < results.size(); ++k)
      made[k].add(rank, {part.pieces_made[k], own.define(results[k])});
  }

  /// Says along which axes results are summands. Where they are maxima they are joined at once.
  void join(core::NodeId id, std::size_t output, Holding& made) {
    const core::TensorId tensor = graph_.node(id).outputs[output];
    const std::vector<ops::Loop>& loops = loops_of(id);
    std::vector<std::size_t> largest, smallest;
    for (std::size_t l = 0; l < loops.size(); ++l)
      for (const std::size_t axis : axes_of(id, l)) {
        if (loops[l].joined[output] == ops::Joined::kSum) made.partial_axes.push_back(axis);
        if (loops[l].joined[output] == ops::Joined::kMax) largest.push_back(axis);
        if (loops[l].joined[output] == ops::Joined::kMin) smallest.push_back(axis);
      }
    // A maximum of sums needs the sums first.
    if (!largest.empty() || !smallest.empty()) add_up(tensor, made);
    exchanges_.reduce(tensor, largest, JoinedValues::kMax, made);
    exchanges_.reduce(tensor, smallest, JoinedValues::kMin, made);
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

  /// Sees to it that all ranks have what their parts read of an input.
  void bring(core::NodeId id, std::size_t input, const Ranks& ranks,
             const std::vector<const NodePart*>& parts) {
    const core::TensorId tensor = graph_.node(id).inputs[input];
    if (!tensor.valid() || is_constant(tensor) || is_data(tensor)) return;
    PiecesOfRanks needs;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (std::ranges::find(parts[r]->inputs, input) != parts[r]->inputs.end())
        needs.emplace(ranks[r], parts[r]->pieces_read[input]);
    if (needs.empty()) return;
    if (is_held(tensor)) hold(tensor, stage_of(id));
    complete(id, input);
    exchanges_.send(tensor, needs, holdings_.at(tensor));
  }

  /// Gives the ranks of a stage their pieces of a weight.
  void hold(core::TensorId tensor, std::int64_t stage) {
    if (!held_.emplace(tensor, stage).second) return;
    Holding& holding = holdings_.try_emplace(tensor, mesh_.rank_count()).first->second;
    const core::DataType type = graph_.tensor(tensor).type.data_type;
    for (const std::int64_t rank : ranks_of(stage)) {
      const TensorPiece piece = piece_of(tensor, cuts_.weights[tensor.index()], rank);
      holding.add(rank, {piece, exchanges_.writer(rank).input(tensor, piece, type)});
    }
  }

  TensorPiece piece_of(core::TensorId tensor, const Layout& layout, std::int64_t rank) const {
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
                                       mesh_.part(values, cutting, mesh_.position_of(rank))));
    }
    return piece;
  }

  /// Adds summands before a node reads them: where the node is cut along the tensor each rank gets
  /// its piece of the sum, else all of it.
  void complete(core::NodeId reader, std::size_t input) {
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
      const PiecesOfRanks pieces =
          scattered_pieces(mesh_, holding, dims_of(tensor), cutting, scattered, ranks_of(stage));
      exchanges_.scatter(tensor, scattered, pieces, holding);
    }
    exchanges_.reduce(tensor, reduced, JoinedValues::kSum, holding);
  }

  /// A piece of a tensor in the open graph of a rank, which has it.
  core::TensorId operand(std::int64_t rank, core::TensorId tensor, const TensorPiece& piece) {
    RankWriter& own = exchanges_.writer(rank);
    if (is_constant(tensor)) {
      const core::TensorId whole = append_constant(own.builder(), graph_, tensor);
      return take_piece(own.builder(), whole,
                        relative_to(TensorPiece::whole(dims_of(tensor)), piece));
    }
    if (is_data(tensor))
      return own.operand(own.input(tensor, piece, graph_.tensor(tensor).type.data_type));
    const OwnPiece& held = *holdings_.at(tensor).find(rank, piece);
    return take_piece(own.builder(), own.operand(held.value), relative_to(held.piece, piece));
  }

  // --- Results of the model ---

  void give(core::TensorId tensor) {
    if (is_held(tensor)) hold(tensor, 0);
    if (is_data(tensor) || is_constant(tensor)) return give_whole(tensor);
    Holding& holding = holdings_.at(tensor);
    add_up(tensor, holding);
    for (std::int64_t rank = 0; rank < mesh_.rank_count(); ++rank)
      if (holding.has(rank))
        exchanges_.writer(rank).add_output(
            {tensor, holding.first(rank).piece, holding.first(rank).value});
  }

  /// An input or a constant that is a result: the first rank gives it.
  void give_whole(core::TensorId tensor) {
    const TensorPiece whole = TensorPiece::whole(dims_of(tensor));
    const core::TensorId value = operand(0, tensor, whole);
    RankWriter& first = exchanges_.writer(0);
    first.add_output({tensor, whole, first.define(value)});
  }

  const core::Graph& graph_;
  const GraphLoops& loops_;
  const std::vector<bool>& is_weight_;
  const PlannedCuts& cuts_;
  const RankMesh& mesh_;
  PartGraphs parts_;
  Exchanges exchanges_;
  std::map<core::TensorId, Holding> holdings_;
  std::set<std::pair<core::TensorId, std::int64_t>>
      held_;  ///< Weights, with stages that have them.
};

}  // namespace

PlannedCuts cuts_of(const MeshPlan& plan) {
  PlannedCuts cuts{RankMesh(plan.shape.stages, plan.axis_sizes, plan.uneven),
                   {},
                   plan.sharding.tensors,
                   plan.piece_of_node};
  for (const NodeChoice& choice : plan.sharding.nodes) cuts.loops.push_back(choice.loops);
  return cuts;
}

core::Result<std::vector<RankProgram>> lower(const core::Graph& graph, const GraphLoops& loops,
                                             const std::vector<bool>& is_weight,
                                             const PlannedCuts& cuts) {
  return Lowering(graph, loops, is_weight, cuts).run();
}

}  // namespace soapstone::parallel
