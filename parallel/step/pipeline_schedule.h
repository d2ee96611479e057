// In which order a stage of a pipeline runs its pieces of the model for the microbatches of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "parallel/step/plan.h"

namespace soapstone::parallel {

/// One pass of one microbatch through one piece of a stage.
struct PieceRun {
  std::int64_t chunk = 0;  ///< Piece `chunk · stages + stage` of the model.
  std::int64_t microbatch = 0;
  bool is_backward = false;
  bool operator==(const PieceRun&) const = default;
};

/// One forward pass, one backward pass in turn once the pipeline is full (1F1B); with several
/// chunks, groups of as many microbatches as there are stages take turns (interleaved). After
/// D. Narayanan et al., arXiv 2104.04473, section 2.2. For inference: forward passes in that order.
std::vector<PieceRun> schedule_of_stage(const MeshShape& shape, std::int64_t stage,
                                        bool is_training);

/// Runs the passes of all stages, each stage's in the order of its schedule. `run` is told the
/// stage and the pass, and returns false if a pass that it needs has not run yet: it is asked again
/// then.
void run_schedules(const MeshShape& shape, bool is_training,
                   const std::function<bool(std::size_t stage, const PieceRun& pass)>& run);

}  // namespace soapstone::parallel
