#include "parallel/lowering/exchanges.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "parallel/lowering/message_order.h"
#include "parallel/pieces/piece_graph.h"

namespace soapstone::parallel {
namespace {

/// A piece without elements, which no rank has to send.
core::TensorId empty_piece(core::GraphBuilder& builder, core::DataType type,
                           const TensorPiece& piece) {
  return builder.add_constant(
      std::make_shared<const core::Literal>(core::Literal::copy(type, piece.extents(), {})));
}

}  // namespace

/// Messages about one tensor that go at the same time.
class Exchanges::Batch {
 public:
  Batch(Exchanges& exchanges, core::TensorId tensor) : exchanges_(exchanges), tensor_(tensor) {}

  /// A value in a pass of a lane's rank, with `piece` out of the first piece of `holder`. Another
  /// rank sends it: in the same pass within a stage, as all ranks of a stage run the same passes;
  /// else as soon as it has been made.
  RankValueId value(const Holding& holding, std::int64_t holder, std::int64_t lane,
                    std::size_t pass, const TensorPiece& piece) {
    const RankMesh& mesh = exchanges_.lanes_.mesh();
    const bool is_near = mesh.stage_of(holder) == mesh.stage_of(lane);
    const std::size_t sent_in = is_near ? pass : exchanges_.pass_of(holding, holder);
    const RankValueId taken = exchanges_.taken(holding, holder, piece, sent_in);
    const std::int64_t from = exchanges_.lanes_.rank_of(holder);
    const std::int64_t to = exchanges_.lanes_.rank_of(lane);
    if (from == to) return taken;
    const RankValueId value =
        exchanges_.writer(lane, pass).received(exchanges_.writer(holder).type(taken));
    const std::size_t number = exchanges_.next_number_++;
    steps_[{from, sent_in}].sent.push_back({number, to, tensor_, taken});
    steps_[{to, pass}].received.push_back({number, from, tensor_, value});
    return value;
  }

  void finish() {
    for (auto& [place, step] : steps_) {
      RankWriter& writer = exchanges_.writers_[static_cast<std::size_t>(place.first)];
      writer.select(place.second);
      writer.add(std::move(step));
    }
  }

 private:
  Exchanges& exchanges_;
  core::TensorId tensor_;
  std::map<std::pair<std::int64_t, std::size_t>, MessageStep> steps_;  ///< By rank and pass.
};

Exchanges::Exchanges(const Lanes& lanes)
    : lanes_(lanes), writers_(static_cast<std::size_t>(lanes.rank_count())) {}

RankWriter& Exchanges::writer(std::int64_t lane, std::size_t pass) {
  RankWriter& writer = writers_[static_cast<std::size_t>(lanes_.rank_of(lane))];
  writer.select(pass);
  return writer;
}

const RankWriter& Exchanges::writer(std::int64_t lane) const {
  return writers_[static_cast<std::size_t>(lanes_.rank_of(lane))];
}

std::size_t Exchanges::pass_of(const Holding& holding, std::int64_t lane) const {
  return writer(lane).pass_of(holding.first(lane).value);
}

core::DataType Exchanges::type_of(const Holding& holding) const {
  std::int64_t lane = 0;
  while (!holding.has(lane)) ++lane;
  return writer(lane).type(holding.first(lane).value).data_type;
}

/// A piece of the first piece of a lane, as a value of its rank.
RankValueId Exchanges::taken(const Holding& holding, std::int64_t lane, const TensorPiece& piece,
                             std::size_t pass) {
  const OwnPiece& own = holding.first(lane);
  if (own.piece == piece) return own.value;
  RankWriter& writer = this->writer(lane, pass);
  const core::TensorId whole = writer.operand(own.value);
  return writer.define(take_piece(writer.builder(), whole, relative_to(own.piece, piece)));
}

/// Lanes that differ in fewer positions are nearer, those of one rank nearer than all others, and
/// each is nearest to itself.
std::int64_t Exchanges::distance(std::int64_t a, std::int64_t b) const {
  if (a == b) return -2;
  if (lanes_.rank_of(a) == lanes_.rank_of(b)) return -1;
  const RankMesh& mesh = lanes_.mesh();
  const MeshPosition here = mesh.position_of(a), there = mesh.position_of(b);
  std::int64_t differ = mesh.stage_of(a) == mesh.stage_of(b) ? 0 : 1;
  for (std::size_t k = 0; k < here.size(); ++k) differ += here[k] != there[k] ? 1 : 0;
  return differ;
}

core::Status Exchanges::send(core::TensorId tensor, const Demand& demand, Holding& holding) {
  struct Missing {
    std::int64_t lane;
    std::size_t pass;
    const TensorPiece* piece;
    std::vector<std::vector<IndexSet>> parts;
    std::vector<RankValueId> cells;
  };
  std::vector<Missing> missing;
  for (const auto& [lane, piece] : demand.pieces) {
    const std::size_t pass = lanes_.pass(lane, demand.piece_of_model, demand.direction);
    if (!holding.find(lane, pass, piece)) missing.push_back({lane, pass, &piece, {}, {}});
  }
  if (missing.empty()) return core::Done{};
  const CellFinder finder(holding);
  Batch batch(*this, tensor);
  for (Missing& each : missing) {
    if (each.piece->is_empty()) continue;
    CellGrid grid = finder.cells_of(
        *each.piece, [&](std::int64_t holder) { return distance(each.lane, holder); });
    for (const Cell& cell : grid.cells) {
      if (demand.is_piecewise &&
          lanes_.microbatch_of(each.lane) != lanes_.microbatch_of(cell.holder))
        return core::unsupported("a microbatch needs what others compute",
                                 "plan with one microbatch");
      each.cells.push_back(batch.value(holding, cell.holder, each.lane, each.pass, cell.piece));
    }
    each.parts = std::move(grid.parts);
  }
  batch.finish();
  for (const Missing& each : missing) {
    RankWriter& own = writer(each.lane, each.pass);
    std::vector<core::TensorId> cells;
    for (const RankValueId value : each.cells) cells.push_back(own.operand(value));
    const core::TensorId joined = cells.empty()
                                      ? empty_piece(own.builder(), type_of(holding), *each.piece)
                                      : join_pieces(own.builder(), each.parts, std::move(cells));
    OwnPiece brought{*each.piece, own.define(joined), std::nullopt};
    if (demand.is_for_pass) brought.pass = each.pass;
    holding.add(each.lane, std::move(brought));
  }
  return core::Done{};
}

void Exchanges::reduce(core::TensorId tensor, const std::vector<std::size_t>& axes,
                       JoinedValues joined, Holding& holding) {
  if (axes.empty()) return;
  std::map<std::size_t, std::size_t> numbers;  // by pass
  for (std::int64_t lane = 0; lane < lanes_.mesh().rank_count(); ++lane) {
    if (!holding.has(lane)) continue;
    const OwnPiece own = holding.first(lane);
    const std::size_t pass = pass_of(holding, lane);
    const auto [number, is_new] = numbers.try_emplace(pass, next_number_);
    if (is_new) ++next_number_;
    RankWriter& writer = this->writer(lane, pass);
    std::vector<std::int64_t> group;
    for (const std::int64_t other : lanes_.mesh().group_of(lane, axes))
      group.push_back(lanes_.rank_of(other));
    const RankValueId to = writer.received(writer.type(own.value));
    writer.add(AllReduceStep{number->second, tensor, joined, std::move(group), own.value, to});
    holding.replace(lane, {own.piece, to, std::nullopt});
  }
}

void Exchanges::scatter(core::TensorId tensor, const std::vector<std::size_t>& axes,
                        const PiecesOfLanes& pieces, Holding& holding) {
  Batch batch(*this, tensor);
  std::map<std::int64_t, std::vector<RankValueId>> terms;
  for (const auto& [lane, piece] : pieces)
    for (const std::int64_t other : lanes_.mesh().group_of(lane, axes))
      terms[lane].push_back(batch.value(holding, other, lane, pass_of(holding, lane), piece));
  batch.finish();
  for (const auto& [lane, values] : terms) {
    RankWriter& own = writer(lane, pass_of(holding, lane));
    std::vector<core::TensorId> operands;
    for (const RankValueId value : values) operands.push_back(own.operand(value));
    const core::TensorId sum = sum_in_order(own.builder(), operands);
    holding.replace(lane, {pieces.at(lane), own.define(sum), std::nullopt});
  }
}

void Exchanges::accumulate(Holding& holding) {
  for (std::int64_t lane = 0; lane < lanes_.mesh().rank_count(); ++lane) {
    const std::int64_t microbatch = lanes_.microbatch_of(lane);
    if (microbatch == lanes_.last_microbatch() || !holding.has(lane)) continue;
    const OwnPiece sum = holding.first(lane);
    const std::int64_t next = lane + lanes_.rank_count() / lanes_.stage_count();
    const OwnPiece more = holding.first(next);
    RankWriter& own = writer(next, pass_of(holding, next));
    const std::vector<core::TensorId> terms = {own.operand(sum.value), own.operand(more.value)};
    holding.replace(next, {more.piece, own.define(sum_in_order(own.builder(), terms)), {}});
    holding.clear(lane);
  }
}

core::Result<std::vector<RankProgram>> Exchanges::finish() && {
  std::vector<RankProgram> programs;
  for (RankWriter& own : writers_) {
    SOAPSTONE_ASSIGN_OR_RETURN(RankProgram program, std::move(own).finish());
    programs.push_back(std::move(program));
  }
  receive_in_order(programs);
  return programs;
}

}  // namespace soapstone::parallel
