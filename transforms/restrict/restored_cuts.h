// Products of pieces among zeros, as correlations at several distances have them: a product with
// what is cut and framed by zeros needs no piece of the other factor, and has the size that others
// have.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/restrict/demand.h"

namespace soapstone::transforms {

/// A plan of one step for each frame of zeros around a product of two pieces, or around what is
/// computed from it place by place, where the frame fills up what was cut off one factor. No gain
/// by itself, but products are then alike that differed in size. The names of its rules begin with
/// kDemandPrefix.
std::vector<RewriteSequence> find_restored_cuts(const core::Graph& graph);
inline constexpr Transform kRestoredCuts{
    "restored_cuts", "products of unlike pieces become alike", find_restored_cuts, {kDemandPrefix}};

}  // namespace soapstone::transforms
