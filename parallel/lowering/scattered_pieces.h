// Which rank gets which piece of a sum that is to be scattered.
#pragma once

#include <vector>

#include "ops/partition/loops.h"
#include "parallel/lowering/exchanges.h"

namespace soapstone::parallel {

/// A loop of the node that reads a tensor, where it runs over the tensor.
struct CuttingLoop {
  ops::LoopPlace place;
  std::int64_t size = 0;
  std::vector<std::size_t> axes;  ///< All that cut it.
};

/// Pieces of the sum of first pieces along `axes`, each of which cuts one of the loops. Usually
/// those that the loops leave to a rank; where these are not all of it, as ranks have summands of
/// different elements, equal shares along the first dimension that is cut.
PiecesOfLanes scattered_pieces(const RankMesh& mesh, const Holding& holding, const core::Dims& dims,
                               const std::vector<CuttingLoop>& loops,
                               const std::vector<std::size_t>& axes,
                               const std::vector<std::int64_t>& ranks);

}  // namespace soapstone::parallel
