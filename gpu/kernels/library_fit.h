// Which launches around a product or a convolution libraries have: decided by their descriptions,
// without a library.
#pragma once

#include <span>

#include "core/graph/graph.h"

namespace soapstone::gpu {

/// True if libraries compute these nodes as one: a product of matrices, read and written in any
/// order of dimensions, with a scale, a bias, an addend and a function behind it; or a convolution
/// with additions and a function of one argument. `nodes` in topological order, with the views that
/// they read through.
bool fits_libraries(const core::Graph& graph, std::span<const core::NodeId> nodes,
                    std::span<const core::TensorId> outputs);

}  // namespace soapstone::gpu
