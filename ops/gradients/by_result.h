// Operators whose gradient follows from their result: what they were computed from need not be kept
// for it, as frameworks do.
#pragma once

#include "core/graph/graph.h"

namespace soapstone::ops {

/// Whether the derivative of the node by its only floating input is a function of its result.
bool gradient_reads_result(const core::Node& node);

}  // namespace soapstone::ops
