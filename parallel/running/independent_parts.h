// A graph that falls apart, as the updates of weights do: run one after the other, its parts need
// not have all their inputs and results at once.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

/// The parts of a step that have no tensor in common but single elements, which each computes for
/// itself; the step itself if there is one part. All outputs are there once, in some order. Errors:
/// kInvalidInput if its graph is none.
core::Result<std::vector<ComputeStep>> independent_parts(ComputeStep step);

}  // namespace soapstone::parallel
