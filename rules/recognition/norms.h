// Layer norms and root-mean-square norms, however they are written out.
#pragma once

#include <set>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// A plan for each; their nodes are put into the set.
std::vector<RewritePlan> find_norms(const core::Graph& graph, std::set<core::NodeId>& taken);

}  // namespace soapstone::rules
