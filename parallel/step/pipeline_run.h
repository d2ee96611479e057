// Runs the passes of a pipeline in the order of its schedule: a pass begins when its stage is free
// and what it reads has arrived.
#pragma once

#include <vector>

#include "parallel/step/plan.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// A piece of a stage, for one microbatch.
struct PieceTimes {
  double forward_us = 0, backward_us = 0;
  double handover_bytes = 0;  ///< To the next piece, on each device; gradients come back as many.
};

struct PipelineRun {
  double end_us = 0;                     ///< When the last pass of all ends.
  std::vector<double> stage_end_us;      ///< By stage: of its last pass.
  std::vector<double> last_backward_us;  ///< By piece: when its last backward pass begins.
};

/// `pieces` in the order of the model, as many as the shape has; `handovers` as handovers() gives
/// them. A path is one transfer's at a time in each direction. Complexity: linear in passes.
PipelineRun run_pipeline(const MeshShape& shape, bool is_training,
                         const std::vector<PieceTimes>& pieces, const std::vector<Path>& handovers);

}  // namespace soapstone::parallel
