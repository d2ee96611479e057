// Operators that may run before the summands of their inputs are added.
#pragma once

#include "core/graph/graph.h"

namespace soapstone::parallel {

/// Whether the node moves elements of its floating-point inputs, repeats none, and adds none but
/// zeros, or adds the inputs element by element: of summands of all of these inputs it makes
/// summands of its result, and has no more to add than there was.
bool passes_summands(const core::Graph& graph, core::NodeId node);

}  // namespace soapstone::parallel
