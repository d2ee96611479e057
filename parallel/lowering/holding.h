// Pieces of a tensor that ranks have, and from whom another rank gets what it needs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

struct OwnPiece {
  TensorPiece piece;
  RankValueId value;
  std::optional<std::size_t> pass;  ///< It is there in this pass alone.
};

/// A tensor of the model as ranks have it, here the lanes (lanes.h) of ranks: by rank the piece
/// that it made or was given first, then others that it was sent.
class Holding {
 public:
  explicit Holding(std::int64_t ranks) : pieces_(static_cast<std::size_t>(ranks)) {}

  std::int64_t rank_count() const { return static_cast<std::int64_t>(pieces_.size()); }
  bool has(std::int64_t rank) const { return !of(rank).empty(); }
  /// Precondition: the rank has a piece.
  const OwnPiece& first(std::int64_t rank) const { return of(rank).front(); }
  /// A piece that the rank has in a pass with all of `piece`, or null.
  const OwnPiece* find(std::int64_t rank, std::size_t pass, const TensorPiece& piece) const;

  void add(std::int64_t rank, OwnPiece piece);
  /// The rank has this piece and no other.
  void replace(std::int64_t rank, OwnPiece piece);
  void clear(std::int64_t rank) { pieces_[static_cast<std::size_t>(rank)].clear(); }

  /// Axes along which first pieces are summands. There are no other pieces then.
  std::vector<std::size_t> partial_axes;

 private:
  const std::vector<OwnPiece>& of(std::int64_t rank) const {
    return pieces_[static_cast<std::size_t>(rank)];
  }
  std::vector<std::vector<OwnPiece>> pieces_;  ///< By rank.
};

/// A part of a needed piece, and a rank whose first piece has all of it.
struct Cell {
  TensorPiece piece;
  std::int64_t holder = 0;
};

/// A needed piece as a grid of cells.
struct CellGrid {
  std::vector<std::vector<IndexSet>> parts;  ///< By dimension.
  std::vector<Cell> cells;                   ///< Row-major.
};

class CellFinder {
 public:
  explicit CellFinder(const Holding& holding);

  /// Each cell from the rank at the least distance, the first one of equals.
  /// Precondition: first pieces have all of `piece` between them.
  CellGrid cells_of(const TensorPiece& piece,
                    const std::function<std::int64_t(std::int64_t rank)>& distance) const;

 private:
  struct Holder {
    std::int64_t rank;
    std::vector<std::vector<bool>> has;  ///< By dimension and part.
  };
  std::int64_t nearest(const std::vector<std::size_t>& cell,
                       const std::function<std::int64_t(std::int64_t rank)>& distance) const;

  std::vector<std::vector<IndexSet>> parts_;  ///< By dimension.
  std::vector<Holder> holders_;
};

}  // namespace soapstone::parallel
