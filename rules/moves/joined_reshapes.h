// Reshapes one behind another are one.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// A plan for each reshape of what is reshaped, however often: no gain, but what stands in front of
/// the first is seen by what looks for it. Complexity: linear in the graph.
std::vector<RewritePlan> find_joined_reshapes(const core::Graph& graph);

}  // namespace soapstone::rules
