// Which results may differ in rounding from those of one device.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "parallel/lowering/lowering.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// Tells of each tensor whether a sum on the way to it is cut, so that it is added in another order
/// than on one device. `loops` are those of the graph.
std::vector<bool> behind_cut_sums(const core::Graph& graph, const GraphLoops& loops,
                                  const PlannedCuts& cuts);

}  // namespace soapstone::parallel
