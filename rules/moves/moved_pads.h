// Zeros around a tensor that is moved afterwards are zeros around the moved one, where convolutions
// take them for padding of theirs.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// A plan for each such pad in front of convolutions. Complexity: linear in the graph.
std::vector<RewritePlan> find_moved_pads(const core::Graph& graph);

}  // namespace soapstone::rules
