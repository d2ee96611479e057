#include "parallel/lowering/scattered_pieces.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

/// The elements of a rank's piece that the loops leave to it.
TensorPiece left_by(const std::vector<CuttingLoop>& loops, const RankMesh& mesh,
                    const core::Dims& dims, std::int64_t rank, TensorPiece piece) {
  for (const CuttingLoop& loop : loops) {
    const std::int64_t size = dims[loop.place.dim];
    ops::Interval values = mesh.part(loop.size, loop.axes, mesh.position_of(rank));
    std::int64_t stride = loop.place.stride;
    if (loop.place.period == 0) {
      // Windows may read more elements than the loop has steps: all of them have to be somewhere.
      values = {values.low * size / loop.size, values.high * size / loop.size};
      stride = 1;
    }
    IndexSet& set = piece.dims[loop.place.dim];
    set = intersection(set, repeated(size, stride, loop.place.period, values));
  }
  return piece;
}

/// Whether ranks that have summands of the same elements as this one have all of their sums.
bool covers(const Holding& holding, const PiecesOfLanes& pieces, std::int64_t rank) {
  const TensorPiece& own = holding.first(rank).piece;
  std::vector<const TensorPiece*> different;
  std::int64_t elements = 0;
  for (const auto& [other, piece] : pieces) {
    if (holding.first(other).piece != own) continue;
    if (std::ranges::any_of(different, [&](const TensorPiece* known) { return *known == piece; }))
      continue;
    different.push_back(&piece);
    elements += piece.element_count();
  }
  return elements == own.element_count();
}

}  // namespace

PiecesOfLanes scattered_pieces(const RankMesh& mesh, const Holding& holding, const core::Dims& dims,
                               const std::vector<CuttingLoop>& loops,
                               const std::vector<std::size_t>& axes,
                               const std::vector<std::int64_t>& ranks) {
  PiecesOfLanes pieces;
  for (const std::int64_t rank : ranks)
    pieces[rank] = left_by(loops, mesh, dims, rank, holding.first(rank).piece);
  if (std::ranges::all_of(ranks, [&](std::int64_t rank) { return covers(holding, pieces, rank); }))
    return pieces;
  const std::size_t dim = loops.front().place.dim;
  for (const std::int64_t rank : ranks) {
    const std::vector<std::int64_t> group = mesh.group_of(rank, axes);
    const auto all = static_cast<std::int64_t>(group.size());
    const std::int64_t own = std::ranges::find(group, rank) - group.begin();
    TensorPiece& piece = pieces[rank] = holding.first(rank).piece;
    const std::int64_t size = count(piece.dims[dim]);
    piece.dims[dim] = elements_at(piece.dims[dim], {size * own / all, size * (own + 1) / all});
  }
  return pieces;
}

}  // namespace soapstone::parallel
