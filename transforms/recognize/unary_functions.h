// Chains of elementwise operators on one tensor that are a function with an operator of its own, or
// with fewer operators; and what is divided by one over such a function.
#pragma once

#include <set>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

/// A plan for each, the longest chains first; their nodes are put into the set.
std::vector<RewriteSequence> find_unary_functions(const core::Graph& graph,
                                                  std::set<core::NodeId>& taken);

}  // namespace soapstone::transforms
