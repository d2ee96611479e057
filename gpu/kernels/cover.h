// The groups of a graph's nodes as launches of runtime/.
#pragma once

#include <optional>
#include <vector>

#include "runtime/launches/launch_plan.h"

namespace soapstone::gpu {

/// See Backend::cover: launches of any shape for full fusion, none for less.
std::optional<std::vector<runtime::Launch>> cover(const core::Graph& graph, runtime::Fusion fusion);

}  // namespace soapstone::gpu
