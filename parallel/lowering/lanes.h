// Which microbatches ranks run when. A rank is as many lanes as a step has microbatches: lanes are
// to microbatches what ranks are to devices, an axis of the mesh that cuts the batch. What is cut
// along it runs in all lanes of a rank, one after the other, and sums over it are added up there.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/lowering/planned_cuts.h"
#include "parallel/pieces/rank_mesh.h"

namespace soapstone::parallel {

class Lanes {
 public:
  /// Precondition: with several microbatches, the mesh has fewer than kMostAxes axes.
  explicit Lanes(const PlannedCuts& cuts);

  /// The mesh of lanes. Its last axis is that of microbatches, if there are several.
  const RankMesh& mesh() const { return mesh_; }
  std::int64_t stage_count() const { return stages_; }
  std::int64_t rank_count() const { return mesh_.rank_count() / microbatches_; }
  std::int64_t rank_of(std::int64_t lane) const;
  std::int64_t microbatch_of(std::int64_t lane) const;
  std::int64_t last_microbatch() const { return microbatches_ - 1; }
  bool is_cut(const AxisLoops& loops) const {
    return microbatches_ > 1 && loops[microbatch_axis_] >= 0;
  }
  std::size_t microbatch_axis() const { return microbatch_axis_; }
  /// Lanes of a stage: of all microbatches, or of one.
  std::vector<std::int64_t> of_stage(std::int64_t stage) const;
  std::vector<std::int64_t> of_stage(std::int64_t stage, std::int64_t microbatch) const;

  std::int64_t stage_of_piece(std::int32_t piece) const { return piece % stages_; }
  /// The number of a pass among those of the lane's rank, in the order of its schedule.
  std::size_t pass(std::int64_t lane, std::int32_t piece, Direction direction) const;

 private:
  std::int64_t stages_, microbatches_, ranks_of_stage_;
  std::size_t microbatch_axis_;
  RankMesh mesh_;
  std::int64_t chunks_;
  std::vector<std::vector<std::size_t>> passes_;  ///< By stage: chunk, microbatch, direction.
  std::size_t last_pass_ = 0;
};

}  // namespace soapstone::parallel
