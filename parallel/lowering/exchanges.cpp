#include "parallel/lowering/exchanges.h"

#include <utility>

#include "parallel/lowering/piece_graph.h"

namespace soapstone::parallel {

/// Messages about one tensor that go at the same time.
class Exchanges::Batch {
 public:
  Batch(Exchanges& exchanges, core::TensorId tensor) : exchanges_(exchanges), tensor_(tensor) {}

  /// A value of `rank` with `piece` out of the first piece of `holder`, which sends it if that is
  /// another rank.
  RankValueId value(const Holding& holding, std::int64_t holder, std::int64_t rank,
                    const TensorPiece& piece) {
    const RankValueId taken = exchanges_.taken(holding, holder, piece);
    if (holder == rank) return taken;
    const RankValueId value =
        exchanges_.writer(rank).received(exchanges_.writer(holder).type(taken));
    steps_[holder].sent.push_back({rank, taken});
    steps_[rank].received.push_back({holder, value});
    return value;
  }

  void finish() {
    if (steps_.empty()) return;
    const std::size_t number = exchanges_.next_number_++;
    for (auto& [rank, step] : steps_) {
      step.number = number;
      step.tensor = tensor_;
      exchanges_.writer(rank).add(std::move(step));
    }
  }

 private:
  Exchanges& exchanges_;
  core::TensorId tensor_;
  std::map<std::int64_t, MessageStep> steps_;
};

/// A piece of the first piece of a rank, as a value of it.
RankValueId Exchanges::taken(const Holding& holding, std::int64_t rank, const TensorPiece& piece) {
  const OwnPiece& own = holding.first(rank);
  if (own.piece == piece) return own.value;
  const core::TensorId whole = writer(rank).operand(own.value);
  return writer(rank).define(
      take_piece(writer(rank).builder(), whole, relative_to(own.piece, piece)));
}

/// Ranks that differ in fewer positions are nearer, and each is nearest to itself.
std::int64_t Exchanges::distance(std::int64_t a, std::int64_t b) const {
  if (a == b) return -1;
  const MeshPosition here = mesh_.position_of(a), there = mesh_.position_of(b);
  std::int64_t differ = mesh_.stage_of(a) == mesh_.stage_of(b) ? 0 : 1;
  for (std::size_t k = 0; k < here.size(); ++k) differ += here[k] != there[k] ? 1 : 0;
  return differ;
}

void Exchanges::send(core::TensorId tensor, const PiecesOfRanks& needs, Holding& holding) {
  struct Missing {
    std::int64_t rank;
    const TensorPiece* piece;
    std::vector<std::vector<IndexSet>> parts;
    std::vector<RankValueId> cells;
  };
  std::vector<Missing> missing;
  for (const auto& [rank, piece] : needs)
    if (!holding.find(rank, piece)) missing.push_back({rank, &piece, {}, {}});
  if (missing.empty()) return;
  const CellFinder finder(holding);
  Batch batch(*this, tensor);
  for (Missing& each : missing) {
    CellGrid grid = finder.cells_of(
        *each.piece, [&](std::int64_t holder) { return distance(each.rank, holder); });
    for (const Cell& cell : grid.cells)
      each.cells.push_back(batch.value(holding, cell.holder, each.rank, cell.piece));
    each.parts = std::move(grid.parts);
  }
  batch.finish();
  for (const Missing& each : missing) {
    RankWriter& own = writer(each.rank);
    std::vector<core::TensorId> cells;
    for (const RankValueId value : each.cells) cells.push_back(own.operand(value));
    const core::TensorId joined = join_pieces(own.builder(), each.parts, std::move(cells));
    holding.add(each.rank, {*each.piece, own.define(joined)});
  }
}

void Exchanges::reduce(core::TensorId tensor, const std::vector<std::size_t>& axes,
                       JoinedValues joined, Holding& holding) {
  if (axes.empty()) return;
  const std::size_t number = next_number_++;
  for (std::int64_t rank = 0; rank < mesh_.rank_count(); ++rank) {
    if (!holding.has(rank)) continue;
    const OwnPiece own = holding.first(rank);
    const RankValueId to = writer(rank).received(writer(rank).type(own.value));
    writer(rank).add(
        AllReduceStep{number, tensor, joined, mesh_.group_of(rank, axes), own.value, to});
    holding.replace(rank, {own.piece, to});
  }
}

void Exchanges::scatter(core::TensorId tensor, const std::vector<std::size_t>& axes,
                        const PiecesOfRanks& pieces, Holding& holding) {
  Batch batch(*this, tensor);
  std::map<std::int64_t, std::vector<RankValueId>> terms;
  for (const auto& [rank, piece] : pieces)
    for (const std::int64_t other : mesh_.group_of(rank, axes))
      terms[rank].push_back(batch.value(holding, other, rank, piece));
  batch.finish();
  for (const auto& [rank, values] : terms) {
    RankWriter& own = writer(rank);
    std::vector<core::TensorId> operands;
    for (const RankValueId value : values) operands.push_back(own.operand(value));
    const core::TensorId sum = sum_in_order(own.builder(), operands);
    holding.replace(rank, {pieces.at(rank), own.define(sum)});
  }
}

core::Result<std::vector<RankProgram>> Exchanges::finish() && {
  std::vector<RankProgram> programs;
  for (RankWriter& own : writers_) {
    SOAPSTONE_ASSIGN_OR_RETURN(RankProgram program, std::move(own).finish());
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace soapstone::parallel
