// See memory_plan.h. Source of the heuristic: Pisarchyk, Lee, "Efficient Memory Management for
// Deep Neural Net Inference", 2020, section 5 (greedy by size).
#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace soapstone::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

using Slot = MemoryPlan::Slot;

bool live_together(const Slot& a, const Slot& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

/// The lowest offset where the slot meets none of the placed slots that live with it.
/// `placed` is ascending in offset.
std::size_t lowest_gap(const Slot& slot, const std::vector<const Slot*>& placed) {
  std::size_t offset = 0;
  for (const Slot* other : placed) {
    if (!live_together(slot, *other)) continue;
    if (offset + aligned(slot.bytes) <= other->offset) break;
    offset = std::max(offset, other->offset + aligned(other->bytes));
  }
  return offset;
}

std::size_t peak(const std::vector<Slot>& slots) {
  std::size_t last = 0;
  for (const Slot& slot : slots) last = std::max(last, slot.last_use);
  std::vector<std::size_t> begin(last + 2), end(last + 2);
  for (const Slot& slot : slots) {
    begin[slot.first_use] += aligned(slot.bytes);
    end[slot.last_use + 1] += aligned(slot.bytes);
  }
  std::size_t live = 0, largest = 0;
  for (std::size_t step = 0; step <= last; ++step) {
    live = live + begin[step] - end[step];
    largest = std::max(largest, live);
  }
  return largest;
}

}  // namespace

MemoryPlan plan_memory(std::vector<Slot> lifetimes) {
  MemoryPlan plan;
  plan.slots = std::move(lifetimes);
  std::vector<std::size_t> by_size(plan.slots.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return plan.slots[a].bytes > plan.slots[b].bytes;
  });
  std::vector<const Slot*> placed;
  for (std::size_t i : by_size) {
    Slot& slot = plan.slots[i];
    slot.offset = lowest_gap(slot, placed);
    plan.arena_bytes = std::max(plan.arena_bytes, slot.offset + aligned(slot.bytes));
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), &slot,
                         [](const Slot* a, const Slot* b) { return a->offset < b->offset; });
    placed.insert(at, &slot);
  }
  plan.peak_bytes = peak(plan.slots);
  return plan;
}

}  // namespace soapstone::runtime
