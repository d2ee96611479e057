// Which calls of a run may run side by side, and in which streams: found from the bytes that they
// read and write. Knows no device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/device/queue.h"

namespace soapstone::gpu {

struct StreamPlan {
  struct Step {
    std::size_t stream = 0;
    /// Calls of other streams that must have run before; those that follow from others are left
    /// out.
    std::vector<std::size_t> waits;
  };
  std::vector<Step> steps;  ///< Parallel to the calls.
  std::size_t streams = 1;
};

/// A call waits for all earlier calls that write what it reads or writes, and for those that read
/// what it writes. Scratch memory does not count: each stream has its own. A call whose sizes are
/// not known waits for all earlier ones, and all later ones for it. Deterministic.
/// Complexity: quadratic in the calls.
StreamPlan plan_streams(std::span<const runtime::KernelCall> calls, std::size_t most_streams);

}  // namespace soapstone::gpu
