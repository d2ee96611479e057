// Operators that may move summands before they are added.
#pragma once

#include "core/graph/graph.h"

namespace soapstone::parallel {

/// Whether the node moves elements of its only floating-point input, repeats none, and adds none
/// but zeros: of a sum it makes the sum of what it makes of the summands, and has no more to add.
bool moves_sums(const core::Graph& graph, core::NodeId node);

}  // namespace soapstone::parallel
