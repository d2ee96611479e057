// Rules with several results, from equalities of one.
#pragma once

#include <span>
#include <vector>

#include "core/base/progress.h"
#include "generator/generalization/candidates.h"

namespace soapstone::generator {

/// The candidates that parts_as_results() makes of each. The result does not depend on `jobs` (0:
/// one a core). Stopped: some of them.
std::vector<RuleCandidate> with_several_results(std::span<const RuleCandidate> candidates, int jobs,
                                                const core::StopToken& stop);

}  // namespace soapstone::generator
