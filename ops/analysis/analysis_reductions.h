// Finds the sums of an operator that may be computed in parts, which are added up afterward. A part
// of partition_roles; knows comprehensions, not graphs.
#pragma once

#include <vector>

#include "ops/analysis/analysis.h"

namespace soapstone::ops::analysis {

/// The reductions of output 0, with role kReduction.
std::vector<DimInfo> reductions_of(const Semantics& semantics);

}  // namespace soapstone::ops::analysis
