// Says whether a graph can be run at all within the limits on memory and work, asked before
// anything is allocated: a few bytes of a model can ask for any size.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::runtime {

/// Counts what no order of execution can avoid: the graph's inputs as the caller and the executor
/// hold them, its outputs, and the operands and results of the largest node, constant expressions
/// among them. Sizes that are not known count nothing.
/// Errors: kUnsupported, which names the largest tensor.
core::Status check_memory(const core::Graph& graph);

/// Operations of one run that are still worth waiting for: hours on one core.
inline constexpr double kMostOperations = 1e14;

/// Checks that one run ends within a time that anyone would wait: a window or a product of a few
/// bytes can take for ever. Opaque nodes count nothing. Errors: kUnsupported, which names the node
/// that takes most.
core::Status check_work(const core::Graph& graph);

}  // namespace soapstone::runtime
