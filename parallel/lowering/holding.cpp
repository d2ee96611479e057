#include "parallel/lowering/holding.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace soapstone::parallel {

const OwnPiece* Holding::find(std::int64_t rank, std::size_t pass, const TensorPiece& piece) const {
  const std::vector<OwnPiece>& own = of(rank);
  const auto found = std::ranges::find_if(own, [&](const OwnPiece& each) {
    return each.pass.value_or(pass) == pass && contains(each.piece, piece);
  });
  return found == own.end() ? nullptr : &*found;
}

void Holding::add(std::int64_t rank, OwnPiece piece) {
  pieces_[static_cast<std::size_t>(rank)].push_back(std::move(piece));
}

void Holding::replace(std::int64_t rank, OwnPiece piece) {
  clear(rank);
  add(rank, std::move(piece));
}

CellFinder::CellFinder(const Holding& holding) {
  std::vector<const TensorPiece*> pieces;
  for (std::int64_t rank = 0; rank < holding.rank_count(); ++rank) {
    if (!holding.has(rank)) continue;
    pieces.push_back(&holding.first(rank).piece);
    holders_.push_back({rank, {}});
  }
  CHECK(!pieces.empty(), "a tensor that some rank has");
  for (std::size_t d = 0; d < pieces.front()->dims.size(); ++d) {
    std::vector<const IndexSet*> sets;
    for (const TensorPiece* piece : pieces)
      if (std::ranges::none_of(sets, [&](const IndexSet* s) { return *s == piece->dims[d]; }))
        sets.push_back(&piece->dims[d]);
    parts_.push_back(common_parts(sets));
    for (std::size_t h = 0; h < holders_.size(); ++h) {
      std::vector<bool>& has = holders_[h].has.emplace_back();
      for (const IndexSet& part : parts_.back())
        has.push_back(parallel::has(pieces[h]->dims[d], part.front().low));
    }
  }
}

std::int64_t
CellFinder::nearest(const std::vector<std::size_t>& cell,
                    const std::function<std::int64_t(std::int64_t rank)>& distance) const {
  const Holder* best = nullptr;
  for (const Holder& holder : holders_) {
    bool has_all = true;
    for (std::size_t d = 0; d < cell.size(); ++d) has_all &= holder.has[d][cell[d]];
    if (has_all && (!best || distance(holder.rank) < distance(best->rank))) best = &holder;
  }
  CHECK(best, "a cell that some rank has");
  return best->rank;
}

CellGrid
CellFinder::cells_of(const TensorPiece& piece,
                     const std::function<std::int64_t(std::int64_t rank)>& distance) const {
  CellGrid grid;
  std::vector<std::vector<std::size_t>> numbers;  // by dimension, of the parts that are needed
  for (std::size_t d = 0; d < parts_.size(); ++d) {
    grid.parts.emplace_back();
    numbers.emplace_back();
    for (std::size_t p = 0; p < parts_[d].size(); ++p) {
      IndexSet needed = intersection(parts_[d][p], piece.dims[d]);
      if (needed.empty()) continue;
      grid.parts.back().push_back(std::move(needed));
      numbers.back().push_back(p);
    }
  }
  std::vector<std::size_t> at(parts_.size(), 0);
  for (bool is_done = false; !is_done;) {
    Cell cell;
    std::vector<std::size_t> part(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) {
      cell.piece.dims.push_back(grid.parts[d][at[d]]);
      part[d] = numbers[d][at[d]];
    }
    cell.holder = nearest(part, distance);
    grid.cells.push_back(std::move(cell));
    is_done = true;
    for (std::size_t d = at.size(); d-- > 0 && is_done;) {
      is_done = ++at[d] == grid.parts[d].size();
      if (is_done) at[d] = 0;
    }
  }
  return grid;
}

}  // namespace soapstone::parallel
