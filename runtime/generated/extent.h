// What a group of nodes reads and stores when one kernel computes it. Views take no part: kernels
// read through them.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "runtime/generated/region.h"

namespace soapstone::runtime::generated {

/// True for a node whose results are pieces of its input, row-major.
bool is_kernel_view(const core::Graph& graph, core::NodeId node);

/// The nodes that compute what `node` reads, views left out; those passed are added to `views`.
std::vector<core::NodeId> sources_of(const core::Graph& graph, core::NodeId node,
                                     std::set<core::NodeId>* views);

/// All nodes that the kernel of a group reads through or computes, in topological order, and what
/// it stores.
struct GroupExtent {
  std::vector<core::NodeId> nodes;
  std::vector<core::TensorId> outputs;
};
GroupExtent extent_of(const core::Graph& graph, std::span<const core::NodeId> nodes,
                      std::span<const core::NodeId> through = {});

/// What the kernel of these nodes computes, with the views that they read through.
core::Result<Region> region_of(const core::Graph& graph, std::span<const core::NodeId> nodes,
                               std::span<const core::NodeId> through = {});

}  // namespace soapstone::runtime::generated
