#include "parallel/simulation/pipeline_schedule.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

/// Backward passes meet the chunks in the opposite order.
std::vector<PieceRun> passes(const MeshShape& shape, bool is_backward) {
  std::vector<PieceRun> runs;
  const std::int64_t group = shape.chunks == 1 ? shape.microbatches : shape.stages;
  for (std::int64_t first = 0; first < shape.microbatches; first += group)
    for (std::int64_t k = 0; k < shape.chunks; ++k)
      for (std::int64_t m = first; m < std::min(first + group, shape.microbatches); ++m)
        runs.push_back({is_backward ? shape.chunks - 1 - k : k, m, is_backward});
  return runs;
}

}  // namespace

std::vector<PieceRun> schedule_of_stage(const MeshShape& shape, std::int64_t stage,
                                        bool is_training) {
  const std::vector<PieceRun> forward = passes(shape, false);
  if (!is_training) return forward;
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
  return runs;
}

}  // namespace soapstone::parallel
