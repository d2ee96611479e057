// Whether numbers leave the range of their types while a graph runs.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/launches/backend.h"

namespace soapstone::search {

/// By output: whether a real number on the way to it, or the output itself, is infinite or no
/// number. Nothing: it takes too much
/// memory to say, or it cannot be run. Precondition: nothing in the graph is opaque.
std::optional<std::vector<bool>> leaves_range(const core::Graph& graph, runtime::Backend& backend,
                                              const std::vector<core::Literal>& inputs);

}  // namespace soapstone::search
