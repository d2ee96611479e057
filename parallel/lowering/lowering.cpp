#include "parallel/lowering/lowering.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/registry.h"
#include "parallel/lowering/holding.h"
#include "parallel/lowering/part_graphs.h"
#include "parallel/lowering/piece_graph.h"
#include "parallel/lowering/rank_writer.h"

namespace soapstone::parallel {
namespace {

class Lowering {
 public:
  Lowering(const core::Graph& graph, const GraphLoops& loops, const std::vector<bool>& is_weight,
           const PlannedCuts& cuts)
      : graph_(graph), loops_(loops), is_weight_(is_weight), cuts_(cuts), mesh_(cuts.mesh),
        parts_(graph, loops), ranks_(static_cast<std::size_t>(mesh_.rank_count())) {}

  core::Result<std::vector<RankProgram>> run() {
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) SOAPSTONE_RETURN_IF_ERROR(lower_node(id));
    for (const core::TensorId id : graph_.outputs()) give(id);
    std::vector<RankProgram> programs;
    for (RankWriter& rank : ranks_) {
      SOAPSTONE_ASSIGN_OR_RETURN(RankProgram program, std::move(rank).finish());
      programs.push_back(std::move(program));
    }
    return programs;
  }

 private:
  using Ranks = std::vector<std::int64_t>;
  /// By rank: what it needs of a tensor, if anything.
  using Needs = std::map<std::int64_t, TensorPiece>;

  RankWriter& writer(std::int64_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  Ranks ranks_of(std::int64_t stage) const {
    Ranks ranks;
    for (std::int64_t r = 0; r < mesh_.ranks_of_stage(); ++r)
      ranks.push_back(mesh_.first_rank(stage) + r);
    return ranks;
  }

  std::int64_t stage_of(core::NodeId id) const {
    return std::max(cuts_.stage_of_node[id.index()], std::int32_t{0});
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
    std::vector<Holding> made(node.outputs.size());
    for (Holding& holding : made) holding.pieces.resize(ranks_.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) compute(id, ranks[r], *parts[r], made);
    for (std::size_t k = 0; k < made.size(); ++k) {
      holdings_[node.outputs[k]] = std::move(made[k]);
      join(id, k);
    }
    return core::Done{};
  }

  ops::PartBox box_of(core::NodeId id, std::int64_t rank) const {
    ops::PartBox box;
    const std::vector<ops::Loop>& loops = loops_.spaces[id.index()].loops;
    for (std::size_t l = 0; l < loops.size(); ++l)
      box.push_back(mesh_.part(loops[l].size, axes_of(id, l), mesh_.position_of(rank)));
    return box;
  }

  void compute(core::NodeId id, std::int64_t rank, const NodePart& part,
               std::vector<Holding>& made) {
    const core::Node& node = graph_.node(id);
    std::vector<core::TensorId> operands;
    for (const std::size_t k : part.inputs)
      operands.push_back(operand(rank, node.inputs[k], part.pieces_read[k]));
    const std::vector<core::TensorId> results =
        append_graph(writer(rank).builder(), part.graph, operands);
    for (std::size_t k = 0; k < results.size(); ++k)
      made[k].pieces[static_cast<std::size_t>(rank)].push_back(
          {part.pieces_made[k], writer(rank).define(results[k])});
  }

  /// Says along which axes the results are summands. Where they are maxima they are joined at once.
  void join(core::NodeId id, std::size_t output) {
    const core::TensorId tensor = graph_.node(id).outputs[output];
    const std::vector<ops::Loop>& loops = loops_.spaces[id.index()].loops;
    std::vector<std::size_t> largest, smallest;
    for (std::size_t l = 0; l < loops.size(); ++l)
      for (const std::size_t axis : axes_of(id, l)) {
        if (loops[l].joined[output] == ops::Joined::kSum)
          holdings_[tensor].partial_axes.push_back(axis);
        if (loops[l].joined[output] == ops::Joined::kMax) largest.push_back(axis);
        if (loops[l].joined[output] == ops::Joined::kMin) smallest.push_back(axis);
      }
    reduce(tensor, largest, JoinedValues::kMax);
    reduce(tensor, smallest, JoinedValues::kMin);
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
    Needs needs;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (std::ranges::find(parts[r]->inputs, input) != parts[r]->inputs.end())
        needs.emplace(ranks[r], parts[r]->pieces_read[input]);
    if (needs.empty()) return;
    if (is_held(tensor)) hold(tensor, stage_of(id));
    complete(id, input);
    send(tensor, needs);
  }

  /// Gives the ranks of a stage their pieces of a weight.
  void hold(core::TensorId tensor, std::int64_t stage) {
    if (!held_.emplace(tensor, stage).second) return;
    Holding& holding = holdings_[tensor];
    holding.pieces.resize(ranks_.size());
    for (const std::int64_t rank : ranks_of(stage)) {
      const TensorPiece piece = piece_of(tensor, cuts_.weights[tensor.index()], rank);
      const core::DataType type = graph_.tensor(tensor).type.data_type;
      holding.pieces[static_cast<std::size_t>(rank)].push_back(
          {piece, writer(rank).input(tensor, piece, type)});
    }
  }

  TensorPiece piece_of(core::TensorId tensor, const Layout& layout, std::int64_t rank) const {
    const core::Dims dims = *core::concrete(graph_.tensor(tensor).type.shape);
    TensorPiece piece = TensorPiece::whole(dims);
    std::map<std::int8_t, std::vector<std::size_t>> axes;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (layout.axes[a] >= 0) axes[layout.axes[a]].push_back(a);
    for (const auto& [number, cutting] : axes) {
      const Digits::Digit digit = loops_.digits.digit(number);
      const std::int64_t size = digit.period == 0 ? dims[digit.dim] : digit.period / digit.stride;
      cut(piece, digit, dims, mesh_.part(size, cutting, mesh_.position_of(rank)));
    }
    return piece;
  }

  static void cut(TensorPiece& piece, const Digits::Digit& digit, const core::Dims& dims,
                  const ops::Interval& values) {
    IndexSet& set = piece.dims[digit.dim];
    set = intersection(set, repeated(dims[digit.dim], digit.stride, digit.period, values));
  }

  // --- Sums of partial results ---

  /// Adds summands before a node reads them: where the node is cut along the tensor each rank gets
  /// its piece of the sum, else all of it.
  void complete(core::NodeId reader, std::size_t input) {
    const core::TensorId tensor = graph_.node(reader).inputs[input];
    const std::vector<std::size_t> partial = holdings_.at(tensor).partial_axes;
    std::vector<std::size_t> scattered, reduced;
    for (const std::size_t axis : partial) {
      const std::int8_t loop = cuts_.loops[reader.index()][axis];
      const bool is_cut = loop >= 0 &&
                          stage_of(reader) == stage_of(graph_.tensor(tensor).producer) &&
                          place_of(reader, static_cast<std::size_t>(loop), input);
      (is_cut ? scattered : reduced).push_back(axis);
    }
    holdings_.at(tensor).partial_axes.clear();
    if (!scattered.empty()) scatter(reader, input, scattered);
    reduce(tensor, reduced, JoinedValues::kSum);
  }

  const ops::LoopPlace* place_of(core::NodeId id, std::size_t loop, std::size_t input) const {
    return loops_.spaces[id.index()].loops[loop].input_place(input);
  }

  /// A rank's piece of the sum: of what it has a summand of, the elements that the reader's loops
  /// leave to it.
  TensorPiece wanted_piece(core::NodeId reader, std::size_t input,
                           const std::set<std::size_t>& loops, std::int64_t rank,
                           TensorPiece piece) const {
    const core::Dims dims =
        *core::concrete(graph_.tensor(graph_.node(reader).inputs[input]).type.shape);
    for (const std::size_t loop : loops) {
      const ops::LoopPlace& place = *place_of(reader, loop, input);
      const std::int64_t size = loops_.spaces[reader.index()].loops[loop].size;
      ops::Interval values = mesh_.part(size, axes_of(reader, loop), mesh_.position_of(rank));
      std::int64_t stride = place.stride;
      if (place.period == 0) {
        // Windows may read more elements than the loop has steps: all of them have to be somewhere.
        values = {values.low * dims[place.dim] / size, values.high * dims[place.dim] / size};
        stride = 1;
      }
      cut(piece, {place.dim, stride, place.period}, dims, values);
    }
    return piece;
  }

  /// Pieces of the sum, by rank. Usually those that the reader wants; where these are not all of
  /// it, as ranks have summands of different elements, equal shares along the first dimension that
  /// the reader cuts.
  std::map<std::int64_t, TensorPiece> scattered_pieces(core::NodeId reader, std::size_t input,
                                                       const std::vector<std::size_t>& axes) const {
    const Holding& holding = holdings_.at(graph_.node(reader).inputs[input]);
    std::set<std::size_t> loops;
    for (const std::size_t axis : axes)
      loops.insert(static_cast<std::size_t>(cuts_.loops[reader.index()][axis]));
    std::map<std::int64_t, TensorPiece> pieces;
    for (const std::int64_t rank : ranks_of(stage_of(reader)))
      pieces[rank] = wanted_piece(reader, input, loops, rank, first_piece(holding, rank));
    for (const auto& [rank, piece] : pieces)
      if (!covers(holding, pieces, rank)) return equal_shares(reader, input, axes);
    return pieces;
  }

  static const TensorPiece& first_piece(const Holding& holding, std::int64_t rank) {
    return holding.pieces[static_cast<std::size_t>(rank)].front().piece;
  }

  /// Whether ranks that have summands of the same elements as this one have all of their sums.
  bool covers(const Holding& holding, const std::map<std::int64_t, TensorPiece>& pieces,
              std::int64_t rank) const {
    std::vector<const TensorPiece*> different;
    std::int64_t elements = 0;
    for (const auto& [other, piece] : pieces) {
      if (first_piece(holding, other) != first_piece(holding, rank)) continue;
      if (std::ranges::any_of(different, [&](const TensorPiece* d) { return *d == piece; }))
        continue;
      different.push_back(&piece);
      elements += piece.element_count();
    }
    return elements == first_piece(holding, rank).element_count();
  }

  std::map<std::int64_t, TensorPiece> equal_shares(core::NodeId reader, std::size_t input,
                                                   const std::vector<std::size_t>& axes) const {
    const Holding& holding = holdings_.at(graph_.node(reader).inputs[input]);
    const auto loop = static_cast<std::size_t>(cuts_.loops[reader.index()][axes.front()]);
    const std::size_t dim = place_of(reader, loop, input)->dim;
    std::map<std::int64_t, TensorPiece> pieces;
    for (const std::int64_t rank : ranks_of(stage_of(reader))) {
      const Ranks group = mesh_.group_of(rank, axes);
      const auto all = static_cast<std::int64_t>(group.size());
      const std::int64_t own = std::ranges::find(group, rank) - group.begin();
      TensorPiece& piece = pieces[rank] = first_piece(holding, rank);
      const std::int64_t size = count(piece.dims[dim]);
      piece.dims[dim] = elements_at(piece.dims[dim], {size * own / all, size * (own + 1) / all});
    }
    return pieces;
  }

  void scatter(core::NodeId reader, std::size_t input, const std::vector<std::size_t>& axes) {
    const core::TensorId tensor = graph_.node(reader).inputs[input];
    Holding& holding = holdings_.at(tensor);
    Exchange exchange(*this, tensor);
    std::map<std::int64_t, std::pair<TensorPiece, std::vector<RankValueId>>> terms;
    for (auto& [rank, wanted] : scattered_pieces(reader, input, axes)) {
      auto& [piece, values] = terms[rank];
      piece = std::move(wanted);
      for (const std::int64_t other : mesh_.group_of(rank, axes))
        values.push_back(exchange.value(holding, other, rank, piece));
    }
    exchange.finish();
    for (auto& [rank, sum] : terms) {
      std::vector<core::TensorId> operands;
      for (const RankValueId value : sum.second) operands.push_back(writer(rank).operand(value));
      const core::TensorId added = sum_in_order(writer(rank).builder(), operands);
      holding.pieces[static_cast<std::size_t>(rank)] = {{sum.first, writer(rank).define(added)}};
    }
  }

  void reduce(core::TensorId tensor, const std::vector<std::size_t>& axes, JoinedValues joined) {
    if (axes.empty()) return;
    Holding& holding = holdings_.at(tensor);
    const std::size_t number = next_number_++;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (holding.pieces[r].empty()) continue;
      OwnPiece& own = holding.pieces[r].front();
      const auto rank = static_cast<std::int64_t>(r);
      const RankValueId to = writer(rank).received(writer(rank).type(own.value));
      writer(rank).add(
          AllReduceStep{number, tensor, joined, mesh_.group_of(rank, axes), own.value, to});
      own.value = to;
    }
  }

  // --- Messages ---

  /// Messages about one tensor that go at the same time.
  class Exchange {
   public:
    Exchange(Lowering& lowering, core::TensorId tensor) : lowering_(lowering), tensor_(tensor) {}

    /// A value of `rank` with `piece` out of the first piece of `holder`, which sends it if that is
    /// another rank.
    RankValueId value(const Holding& holding, std::int64_t holder, std::int64_t rank,
                      const TensorPiece& piece) {
      const RankValueId taken = lowering_.taken(holding, holder, piece);
      if (holder == rank) return taken;
      const RankValueId value =
          lowering_.writer(rank).received(lowering_.writer(holder).type(taken));
      steps_[holder].sent.push_back({rank, taken});
      steps_[rank].received.push_back({holder, value});
      return value;
    }

    void finish() {
      if (steps_.empty()) return;
      const std::size_t number = lowering_.next_number_++;
      for (auto& [rank, step] : steps_) {
        step.number = number;
        step.tensor = tensor_;
        lowering_.writer(rank).add(std::move(step));
      }
    }

   private:
    Lowering& lowering_;
    core::TensorId tensor_;
    std::map<std::int64_t, MessageStep> steps_;
  };

  /// A piece of the first piece of a rank, as a value of it.
  RankValueId taken(const Holding& holding, std::int64_t rank, const TensorPiece& piece) {
    const OwnPiece& own = holding.pieces[static_cast<std::size_t>(rank)].front();
    if (own.piece == piece) return own.value;
    const core::TensorId whole = writer(rank).operand(own.value);
    return writer(rank).define(
        take_piece(writer(rank).builder(), whole, relative_to(own.piece, piece)));
  }

  /// Ranks that differ in fewer positions are nearer, and ranks of the same stage are nearest.
  std::int64_t distance(std::int64_t a, std::int64_t b) const {
    if (a == b) return -1;
    const MeshPosition here = mesh_.position_of(a), there = mesh_.position_of(b);
    std::int64_t differ = mesh_.stage_of(a) == mesh_.stage_of(b) ? 0 : 1;
    for (std::size_t k = 0; k < here.size(); ++k) differ += here[k] != there[k] ? 1 : 0;
    return differ;
  }

  void send(core::TensorId tensor, const Needs& needs) {
    Holding& holding = holdings_.at(tensor);
    std::vector<std::pair<std::int64_t, const TensorPiece*>> missing;
    for (const auto& [rank, piece] : needs)
      if (!holding.find(rank, piece)) missing.emplace_back(rank, &piece);
    if (missing.empty()) return;
    const CellFinder finder(holding);
    Exchange exchange(*this, tensor);
    std::vector<CellGrid> grids;
    std::vector<std::vector<RankValueId>> values(missing.size());
    for (std::size_t m = 0; m < missing.size(); ++m) {
      const std::int64_t rank = missing[m].first;
      grids.push_back(finder.cells_of(*missing[m].second,
                                      [&](std::int64_t holder) { return distance(rank, holder); }));
      for (const Cell& cell : grids.back().cells)
        values[m].push_back(exchange.value(holding, cell.holder, rank, cell.piece));
    }
    exchange.finish();
    for (std::size_t m = 0; m < missing.size(); ++m) {
      const auto& [rank, piece] = missing[m];
      std::vector<core::TensorId> cells;
      for (const RankValueId value : values[m]) cells.push_back(writer(rank).operand(value));
      const core::TensorId joined =
          join_pieces(writer(rank).builder(), grids[m].parts, std::move(cells));
      holding.pieces[static_cast<std::size_t>(rank)].push_back(
          {*piece, writer(rank).define(joined)});
    }
  }

  /// A piece of a tensor in the open graph of a rank, which has it.
  core::TensorId operand(std::int64_t rank, core::TensorId tensor, const TensorPiece& piece) {
    RankWriter& own = writer(rank);
    if (is_constant(tensor)) {
      const core::TensorId whole = append_constant(own.builder(), graph_, tensor);
      const core::Dims dims = *core::concrete(graph_.tensor(tensor).type.shape);
      return take_piece(own.builder(), whole, relative_to(TensorPiece::whole(dims), piece));
    }
    if (is_data(tensor))
      return own.operand(own.input(tensor, piece, graph_.tensor(tensor).type.data_type));
    const OwnPiece& held = *holdings_.at(tensor).find(rank, piece);
    const core::TensorId whole = own.operand(held.value);
    return take_piece(own.builder(), whole, relative_to(held.piece, piece));
  }

  // --- Results of the model ---

  void give(core::TensorId tensor) {
    if (is_held(tensor)) hold(tensor, 0);
    if (is_data(tensor) || is_constant(tensor)) return give_whole(tensor);
    Holding& holding = holdings_.at(tensor);
    const std::vector<std::size_t> partial = std::exchange(holding.partial_axes, {});
    reduce(tensor, partial, JoinedValues::kSum);
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (!holding.pieces[r].empty())
        ranks_[r].add_output(
            {tensor, holding.pieces[r].front().piece, holding.pieces[r].front().value});
  }

  /// An input or a constant that is a result: the first rank gives it.
  void give_whole(core::TensorId tensor) {
    const TensorPiece whole = TensorPiece::whole(*core::concrete(graph_.tensor(tensor).type.shape));
    const core::TensorId value = operand(0, tensor, whole);
    writer(0).add_output({tensor, whole, writer(0).define(value)});
  }

  const core::Graph& graph_;
  const GraphLoops& loops_;
  const std::vector<bool>& is_weight_;
  const PlannedCuts& cuts_;
  const RankMesh& mesh_;
  PartGraphs parts_;
  std::vector<RankWriter> ranks_;
  std::map<core::TensorId, Holding> holdings_;
  std::set<std::pair<core::TensorId, std::int64_t>>
      held_;  ///< Weights, with stages that have them.
  std::size_t next_number_ = 0;
};

}  // namespace

PlannedCuts cuts_of(const MeshPlan& plan) {
  PlannedCuts cuts{RankMesh(plan.shape.stages, plan.axis_sizes, plan.uneven),
                   {},
                   plan.sharding.tensors,
                   plan.stage_of_node};
  for (const NodeChoice& choice : plan.sharding.nodes) cuts.loops.push_back(choice.loops);
  return cuts;
}

core::Result<std::vector<RankProgram>> lower(const core::Graph& graph, const GraphLoops& loops,
                                             const std::vector<bool>& is_weight,
                                             const PlannedCuts& cuts) {
  return Lowering(graph, loops, is_weight, cuts).run();
}

}  // namespace soapstone::parallel
