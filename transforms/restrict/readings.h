// Sums and means of what is linear, and rows that are chosen of what keeps rows apart, are taken of
// what it is computed from, so that less of it is computed.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/restrict/alike_readings.h"

namespace soapstone::transforms {

/// A plan for each part of the graph, with a product in it, whose results are only summed.
/// Complexity: linear in the graph.
std::vector<RewriteSequence> find_readings(const core::Graph& graph);
inline constexpr Transform kSummedProducts{"summed_products",
                                           "what is only summed is summed before it is multiplied",
                                           find_readings,
                                           {kReducedPrefix, kChosenPrefix}};

}  // namespace soapstone::transforms
