// Which launches differ between two graphs of which one was made of the other by a few rewrites: a
// search prices these alone.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace soapstone::runtime {

/// Nodes of two graphs, each in the order of its graph.
struct ChangedNodes {
  std::vector<core::NodeId> before, after;
};

/// The nodes that differ between the graphs, and all that may share a launch with one of these, or
/// compete with it for a place in a launch or in a concat's result, when plan_launches() covers the
/// graph. The launches and views of all other nodes are the same in both graphs, as long as their
/// order among themselves is. Precondition: one graph was made of the other, so that nodes with the
/// same id correspond. Complexity: linear, with one comparison of pointers for most nodes.
ChangedNodes changed_launches(const core::Graph& before, const core::Graph& after);

}  // namespace soapstone::runtime
