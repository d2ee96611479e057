// Which ranks have which pieces of a tensor, and from whom another one gets what it needs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

struct OwnPiece {
  TensorPiece piece;
  RankValueId value;
};

/// A tensor of the model as ranks have it.
struct Holding {
  /// By rank: the piece that it made or was given first, then others that it was sent. None: it has
  /// nothing of the tensor.
  std::vector<std::vector<OwnPiece>> pieces;
  /// Axes along which first pieces are summands. There are no other pieces then.
  std::vector<std::size_t> partial_axes;

  /// What has all of `piece`, or null.
  const OwnPiece* find(std::int64_t rank, const TensorPiece& piece) const;
};

/// A part of a needed piece, and a rank whose first piece has all of it.
struct Cell {
  TensorPiece piece;
  std::int64_t holder = 0;
};

/// A needed piece as a grid of cells.
struct CellGrid {
  std::vector<std::vector<IndexSet>> parts;  ///< Of each dimension.
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
