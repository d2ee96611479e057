// The groups of a graph's nodes as launches of runtime/.
#pragma once

#include <optional>
#include <vector>

#include "gpu/kernels/attention_groups.h"

namespace soapstone::gpu {

/// The groups that kernels and libraries of a GPU compute: what libraries have behind contractions
/// is decided here.
std::vector<runtime::generated::Group> gpu_groups(const core::Graph& graph,
                                                  runtime::generated::GroupingOptions options = {});

/// See Backend::cover: launches of any shape for full fusion, none for less. `attends` says which
/// attention is one launch.
std::optional<std::vector<runtime::Launch>> cover(const core::Graph& graph, runtime::Fusion fusion,
                                                  const LaunchFit& attends);

}  // namespace soapstone::gpu
