#include "parallel/step/pipeline_schedule.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

/// In whole groups of microbatches, of which the last may have more than there are. Backward passes
/// meet the chunks in the opposite order.
std::vector<PieceRun> passes(const MeshShape& shape, bool is_backward) {
  std::vector<PieceRun> runs;
  const std::int64_t group = shape.chunks == 1 ? shape.microbatches : shape.stages;
  for (std::int64_t first = 0; first < shape.microbatches; first += group)
    for (std::int64_t k = 0; k < shape.chunks; ++k)
      for (std::int64_t m = first; m < first + group; ++m)
        runs.push_back({is_backward ? shape.chunks - 1 - k : k, m, is_backward});
  return runs;
}

/// A schedule of whole groups ends, whatever is left out of it.
std::vector<PieceRun> without_missing(std::vector<PieceRun> runs, const MeshShape& shape) {
  std::erase_if(runs, [&](const PieceRun& run) { return run.microbatch >= shape.microbatches; });
  return runs;
}

}  // namespace

std::vector<PieceRun> schedule_of_stage(const MeshShape& shape, std::int64_t stage,
                                        bool is_training) {
  std::vector<PieceRun> forward = passes(shape, false);
  if (!is_training) return without_missing(std::move(forward), shape);
  const std::vector<PieceRun> backward = passes(shape, true);
  const std::int64_t later_stages = shape.stages - stage - 1;
  const std::int64_t filling =
      shape.chunks == 1 ? later_stages : later_stages * 2 + (shape.chunks - 1) * shape.stages;
  std::vector<PieceRun> runs;
  std::size_t next = 0;
  const auto ahead = static_cast<std::size_t>(filling);
  for (std::size_t k = 0; k < backward.size(); ++k) {
    for (; next < std::min(k + ahead + 1, forward.size()); ++next) runs.push_back(forward[next]);
    runs.push_back(backward[k]);
  }
  return without_missing(std::move(runs), shape);
}

void run_schedules(const MeshShape& shape, bool is_training,
                   const std::function<bool(std::size_t stage, const PieceRun& pass)>& run) {
  std::vector<std::vector<PieceRun>> schedules;
  std::size_t left = 0;
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    schedules.push_back(schedule_of_stage(shape, stage, is_training));
    left += schedules.back().size();
  }
  std::vector<std::size_t> next(schedules.size(), 0);
  while (left > 0) {
    const std::size_t before = left;
    for (std::size_t stage = 0; stage < schedules.size(); ++stage)
      for (; next[stage] < schedules[stage].size(); ++next[stage], --left)
        if (!run(stage, schedules[stage][next[stage]])) break;
    CHECK(left < before, "no pass of a schedule waits forever");
  }
}

}  // namespace soapstone::parallel
