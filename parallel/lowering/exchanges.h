// Writes what ranks exchange into their programs: pieces that lie elsewhere, and what partial
// results come to.
#pragma once

#include <map>
#include <vector>

#include "parallel/lowering/holding.h"
#include "parallel/lowering/rank_mesh.h"
#include "parallel/lowering/rank_writer.h"

namespace soapstone::parallel {

/// A piece of a tensor for each rank that needs some of it.
using PiecesOfRanks = std::map<std::int64_t, TensorPiece>;

class Exchanges {
 public:
  /// `mesh` must outlive this.
  explicit Exchanges(const RankMesh& mesh)
      : mesh_(mesh), writers_(static_cast<std::size_t>(mesh.rank_count())) {}

  RankWriter& writer(std::int64_t rank) { return writers_[static_cast<std::size_t>(rank)]; }

  /// Brings ranks what they need and do not have. Precondition: first pieces are no summands.
  void send(core::TensorId tensor, const PiecesOfRanks& needs, Holding& holding);
  /// Joins first pieces along axes; each rank gets all of what its own one is joined to.
  void reduce(core::TensorId tensor, const std::vector<std::size_t>& axes, JoinedValues joined,
              Holding& holding);
  /// Adds first pieces along axes; each rank gets its piece of the sum, which is its first one
  /// then.
  void scatter(core::TensorId tensor, const std::vector<std::size_t>& axes,
               const PiecesOfRanks& pieces, Holding& holding);

  /// Errors: as RankWriter::finish().
  core::Result<std::vector<RankProgram>> finish() &&;

 private:
  class Batch;
  RankValueId taken(const Holding& holding, std::int64_t rank, const TensorPiece& piece);
  std::int64_t distance(std::int64_t a, std::int64_t b) const;

  const RankMesh& mesh_;
  std::vector<RankWriter> writers_;
  std::size_t next_number_ = 0;
};

}  // namespace soapstone::parallel
