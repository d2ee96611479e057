#include "parallel/lowering/lanes.h"

#include <algorithm>

#include "core/base/check.h"
#include "parallel/step/pipeline_schedule.h"

namespace soapstone::parallel {
namespace {

RankMesh mesh_of_lanes(const PlannedCuts& cuts) {
  if (cuts.microbatches == 1) return cuts.mesh;
  CHECK(cuts.mesh.axis_count() < kMostAxes, "an axis is left for microbatches");
  return cuts.mesh.with_axis(cuts.microbatches);
}

}  // namespace

Lanes::Lanes(const PlannedCuts& cuts)
    : stages_(cuts.mesh.rank_count() / cuts.mesh.ranks_of_stage()),
      microbatches_(cuts.microbatches), ranks_of_stage_(cuts.mesh.ranks_of_stage()),
      microbatch_axis_(cuts.mesh.axis_count()), mesh_(mesh_of_lanes(cuts)), chunks_(cuts.chunks) {
  MeshShape shape;
  shape.stages = stages_;
  shape.chunks = chunks_;
  shape.microbatches = microbatches_;
  for (std::int64_t stage = 0; stage < stages_; ++stage) {
    const std::vector<PieceRun> schedule = schedule_of_stage(shape, stage, cuts.is_training);
    std::vector<std::size_t>& passes = passes_.emplace_back(2 * chunks_ * microbatches_);
    for (std::size_t k = 0; k < schedule.size(); ++k) {
      const PieceRun& run = schedule[k];
      const std::int64_t forward = run.chunk * microbatches_ + run.microbatch;
      passes[static_cast<std::size_t>(2 * forward + (run.is_backward ? 1 : 0))] = k;
    }
    last_pass_ = schedule.size();
  }
}

std::int64_t Lanes::rank_of(std::int64_t lane) const {
  return mesh_.stage_of(lane) * ranks_of_stage_ + lane % ranks_of_stage_;
}

std::int64_t Lanes::microbatch_of(std::int64_t lane) const {
  return lane % mesh_.ranks_of_stage() / ranks_of_stage_;
}

std::vector<std::int64_t> Lanes::of_stage(std::int64_t stage) const {
  std::vector<std::int64_t> lanes;
  for (std::int64_t k = 0; k < mesh_.ranks_of_stage(); ++k)
    lanes.push_back(mesh_.first_rank(stage) + k);
  return lanes;
}

std::vector<std::int64_t> Lanes::of_stage(std::int64_t stage, std::int64_t microbatch) const {
  std::vector<std::int64_t> lanes;
  for (std::int64_t k = 0; k < ranks_of_stage_; ++k)
    lanes.push_back(mesh_.first_rank(stage) + microbatch * ranks_of_stage_ + k);
  return lanes;
}

std::size_t Lanes::pass(std::int64_t lane, std::int32_t piece, Direction direction) const {
  if (direction == Direction::kBehind) return last_pass_;
  const std::int64_t forward = piece / stages_ * microbatches_ + microbatch_of(lane);
  return passes_[static_cast<std::size_t>(mesh_.stage_of(lane))][static_cast<std::size_t>(
      2 * forward + (direction == Direction::kBackward ? 1 : 0))];
}

}  // namespace soapstone::parallel
