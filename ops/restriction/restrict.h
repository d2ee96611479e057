// One part of an operator as a small graph of ordinary operators: what a device that has the part
// runs. Attributes are adapted by their roles and by equations between both comprehensions; what
// comes out is compared with the whole, index by index, before it is believed.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "ops/partition/part_regions.h"

namespace soapstone::ops {

struct Part {
  /// Its inputs are the regions that it reads, its outputs those that it gives, each put together
  /// to a tensor of their extents.
  core::Graph graph;
  std::vector<std::size_t> inputs;  ///< By input of the graph: the input of the node.
  PartRegions regions;  ///< Those of part_regions, or larger where the operator needs more.
};

/// Parts that are put together as Loop::joined says give the node's results: elements, summands,
/// maxima. Errors: kUnsupported says why an operator cannot compute the part: keep the node whole.
core::Result<Part> restrict_to(const core::Graph& graph, core::NodeId node,
                               const PartitionSpace& space, const PartBox& box);

}  // namespace soapstone::ops
