// From a plan to one program a rank: every operator becomes the part of it that the rank has, and
// where its inputs lie elsewhere, they are brought by messages.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/lowering/planned_cuts.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// The programs of all ranks, for one run of the graph. A rank is given the pieces of inputs that
/// it reads, and of weights those that the plan gives it. It runs the passes of its stage in the
/// order of the pipeline's schedule. All ranks meet exchanges in one order, so no run waits for
/// ever. `loops` and `is_weight` (by tensor) are those of the graph. Precondition: sizes are
/// numbers. Errors: kUnsupported names the node whose part no graph of ordinary operators computes,
/// or which needs several microbatches at once.
core::Result<std::vector<RankProgram>> lower(const core::Graph& graph, const GraphLoops& loops,
                                             const std::vector<bool>& is_weight,
                                             const PlannedCuts& cuts);

}  // namespace soapstone::parallel
