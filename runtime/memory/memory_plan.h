// A memory plan says where tensors lie in one block of memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace soapstone::runtime {

/// Gives each tensor its place in one arena. Lifetimes of tensors that share bytes do not overlap.
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

/// First fit by decreasing size, and where that leaves gaps in a few other orders, of which the
/// best counts; `offset` of what is given is ignored, the order is kept. Offsets are multiples of
/// 64, so that vector loads do not cross cache lines.
/// Complexity: near linear in the number of slots times how many are live at once.
MemoryPlan plan_memory(std::vector<MemoryPlan::Slot> lifetimes);

/// The room that a tensor of so many bytes takes in an arena: offsets are multiples of 64.
std::size_t slot_bytes(std::size_t bytes);

/// MemoryPlan::peak_bytes without a plan. Complexity: linear in slots and steps.
std::size_t peak_bytes(std::span<const MemoryPlan::Slot> lifetimes);
/// Steps at which so much is live.
std::size_t count_peak_steps(std::span<const MemoryPlan::Slot> lifetimes);

}  // namespace soapstone::runtime
