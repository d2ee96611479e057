// When each rank comes to each step of its program, from how long it computes in between.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/running/rank_runner.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// `compute_us`: by rank and step of its program, what computing takes; exchanges are not looked
/// at. Rank r is device r of the topology, whose links say how long an exchange takes once the
/// last rank that it needs has come. Errors: kInternal if a rank waits for ever.
core::Result<std::vector<std::vector<RankStepTime>>>
foretold_times(const std::vector<RankProgram>& programs,
               const std::vector<std::vector<double>>& compute_us, const Topology& topology);

}  // namespace soapstone::parallel
