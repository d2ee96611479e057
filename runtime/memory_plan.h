// Where tensors lie in one block of memory.
#pragma once

#include <cstddef>
#include <vector>

#include "core/ids.h"

namespace soapstone::runtime {

/// Where each tensor lies in one arena. Lifetimes of tensors that share bytes do not overlap.
struct MemoryPlan {
  struct Slot {
    core::TensorId tensor;
    std::size_t offset = 0, bytes = 0;
    std::size_t first_use = 0, last_use = 0;  ///< Step numbers, both included.
  };
  std::vector<Slot> slots;
  std::size_t arena_bytes = 0;
  /// Largest sum of live activations at any step: the lower bound of arena_bytes.
  std::size_t peak_bytes = 0;
};

/// First fit by decreasing size; `offset` of what is given is ignored, the order is kept. Offsets
/// are multiples of 64, so that vector loads do not cross cache lines.
/// Complexity: quadratic in the number of slots.
MemoryPlan plan_memory(std::vector<MemoryPlan::Slot> lifetimes);

}  // namespace soapstone::runtime
