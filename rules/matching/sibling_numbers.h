// How many siblings a graph has anywhere: of which members of a family of rules it has use.
#pragma once

#include <set>

#include "core/graph/graph.h"

namespace soapstone::rules {

/// The numbers of parts that tensors are split into or joined from, of terms of sums, and of
/// readers of a tensor with the same operator; the ten most frequent ones, with 2, 3 and 4 in any
/// case.
std::set<int> sibling_numbers(const core::Graph& graph);

}  // namespace soapstone::rules
