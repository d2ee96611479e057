// Operators that only look at the bytes of their input in another way: no launch, no copy.
#pragma once

#include "core/graph/graph.h"
#include "runtime/launches/layout.h"

namespace soapstone::runtime {

/// True if every result of the node is a contiguous piece of its first input as that lies in
/// `layout`: reshape (of row-major data), split and slice along the outermost dimension, transpose
/// that moves dimensions of size 1 only, expand and cast that change nothing.
bool is_view(const core::Graph& graph, core::NodeId node, Layout layout);

/// Bytes between the start of the node's input and of its result number `output`.
/// Precondition: is_view.
std::size_t view_offset(const core::Graph& graph, core::NodeId node, std::size_t output,
                        Layout layout);

}  // namespace soapstone::runtime
