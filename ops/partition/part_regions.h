// A part of an operator: an interval of each of its loops. What it reads, writes and costs.
#pragma once

#include <vector>

#include "ops/partition/digit_region.h"
#include "ops/partition/loops.h"

namespace soapstone::ops {

/// One interval a loop, in the order of PartitionSpace::loops; none empty.
using PartBox = std::vector<Interval>;

PartBox whole_box(const PartitionSpace& space);

struct PartRegions {
  /// By input; empty: not read. Never too small. Inputs of which only one part adds something (see
  /// Loop::once) are empty in all but the first.
  std::vector<DigitRegion> inputs;
  std::vector<DigitRegion> outputs;  ///< The elements that it gives, perhaps summands of them.
};

/// Precondition: the node has loops, or can be analyzed: `space.digits` is there.
PartRegions part_regions(const PartitionSpace& space, const PartBox& box);

/// As work_of, of a part: halos are computed by every part that needs them.
Work work_of_part(const core::Graph& graph, core::NodeId node, const PartitionSpace& space,
                  const PartBox& box);

}  // namespace soapstone::ops
