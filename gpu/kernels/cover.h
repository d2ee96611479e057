// The groups of a graph's nodes as launches of runtime/.
#pragma once

#include <optional>
#include <vector>

#include "gpu/kernels/attention_groups.h"

namespace soapstone::gpu {

/// A group as a launch: its inputs in the order in which nodes read them.
runtime::Launch launch_of(const core::Graph& graph, const Group& group);

/// See Backend::cover: launches of any shape for full fusion, none for less. `attends` says which
/// attention is one launch.
std::optional<std::vector<runtime::Launch>> cover(const core::Graph& graph, runtime::Fusion fusion,
                                                  const LaunchFit& attends);

}  // namespace soapstone::gpu
