// Times of parts of nodes that somebody has measured, in place of estimates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/sharding/choices.h"

namespace soapstone::parallel {

/// Says what it knows while a plan is searched, from any thread; what it learns, it learns between
/// searches.
class PartTimes {
 public:
  virtual ~PartTimes() = default;
  /// Microseconds of the kernel that computes one part of a node forward. `lengths`: iterations of
  /// each of the node's loops in the part. `estimate_us`: those of a roofline, for what was not
  /// measured.
  virtual double forward_us(core::NodeId node, std::span<const std::int64_t> lengths,
                            double estimate_us) const = 0;
  /// No part of the node takes less than its estimate times that.
  virtual double least_scale(core::NodeId node) const = 0;
};

/// Iterations of each loop of a node in its largest part. `sizes`: those of the mesh's axes.
std::vector<std::int64_t> part_lengths(std::span<const ops::Loop> loops,
                                       std::span<const Origin> origins, const AxisLoops& cut,
                                       std::span<const std::int64_t> sizes,
                                       std::int64_t microbatches);

}  // namespace soapstone::parallel
