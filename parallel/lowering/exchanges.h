// Writes what ranks exchange into their programs: pieces that lie elsewhere, and what partial
// results come to.
#pragma once

#include <map>
#include <vector>

#include "parallel/lowering/holding.h"
#include "parallel/lowering/lanes.h"
#include "parallel/lowering/rank_writer.h"

namespace soapstone::parallel {

/// A piece of a tensor for each lane that needs some of it.
using PiecesOfLanes = std::map<std::int64_t, TensorPiece>;

/// Pieces that a node needs, and when.
struct Demand {
  PiecesOfLanes pieces;
  std::int32_t piece_of_model = 0;
  Direction direction = Direction::kForward;
  bool is_for_pass = false;   ///< What is brought is forgotten behind the pass.
  bool is_piecewise = false;  ///< Each microbatch needs what the same one has.
};

class Exchanges {
 public:
  /// `lanes` must outlive this.
  explicit Exchanges(const Lanes& lanes);

  /// The program of a lane's rank, in one of its passes.
  RankWriter& writer(std::int64_t lane, std::size_t pass);
  const RankWriter& writer(std::int64_t lane) const;

  /// Brings lanes what they need and do not have. Precondition: first pieces are no summands.
  /// Errors: kUnsupported if a microbatch needs what another one has.
  core::Status send(core::TensorId tensor, const Demand& demand, Holding& holding);
  /// Joins first pieces along axes; each lane gets all of what its own one is joined to.
  void reduce(core::TensorId tensor, const std::vector<std::size_t>& axes, JoinedValues joined,
              Holding& holding);
  /// Adds first pieces along axes; each lane gets its piece of the sum, which is its first one
  /// then.
  void scatter(core::TensorId tensor, const std::vector<std::size_t>& axes,
               const PiecesOfLanes& pieces, Holding& holding);
  /// Adds first pieces of the microbatches as they come; the lanes of the last one have the sums,
  /// and others nothing.
  void accumulate(Holding& holding);

  /// Errors: as RankWriter::finish().
  core::Result<std::vector<RankProgram>> finish() &&;

 private:
  class Batch;
  RankValueId taken(const Holding& holding, std::int64_t lane, const TensorPiece& piece,
                    std::size_t pass);
  /// The pass that makes the first piece of a lane.
  std::size_t pass_of(const Holding& holding, std::int64_t lane) const;
  std::int64_t distance(std::int64_t a, std::int64_t b) const;
  /// Precondition: some lane has a piece.
  core::DataType type_of(const Holding& holding) const;

  const Lanes& lanes_;
  std::vector<RankWriter> writers_;  ///< By rank.
  std::size_t next_number_ = 0;
};

}  // namespace soapstone::parallel
