// Sums and products of elements behind a reshaped contraction, taken before the reshape: there they
// are steps of the contraction's launch.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// A plan for each such node. Their rules have the prefix of moves. Complexity: linear in the
/// graph.
std::vector<RewritePlan> find_steps_of_products(const core::Graph& graph);

}  // namespace soapstone::rules
