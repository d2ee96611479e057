// See memory_plan.h. Source of the heuristic: Pisarchyk, Lee, "Efficient Memory Management for
// Deep Neural Net Inference", 2020, section 5 (greedy by size).
#include "runtime/memory/memory_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace soapstone::runtime {
namespace {

constexpr std::size_t kAlignment = 64;

using Slot = MemoryPlan::Slot;

/// The slots that were placed, found by when they are in use: each hangs at the O(log n) nodes of a
/// segment tree over the steps that its lifetime is made of, and at the step at which it begins.
class PlacedSlots {
 public:
  explicit PlacedSlots(std::size_t steps)
      : leaves_(std::bit_ceil(steps)), lasting_(2 * leaves_), beginning_(steps) {}

  void add(const Slot& slot) {
    beginning_[slot.first_use].push_back(&slot);
    std::size_t low = slot.first_use + leaves_, high = slot.last_use + leaves_ + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) lasting_[low++].push_back(&slot);
      if (high % 2 == 1) lasting_[--high].push_back(&slot);
    }
  }

  /// The placed slots that are in use at some step at which `slot` is, ascending in offset.
  const std::vector<const Slot*>& live_with(const Slot& slot) {
    found_.clear();
    for (std::size_t at = slot.first_use + leaves_; at > 0; at /= 2)
      found_.insert(found_.end(), lasting_[at].begin(), lasting_[at].end());
    for (std::size_t step = slot.first_use + 1; step <= slot.last_use; ++step)
      found_.insert(found_.end(), beginning_[step].begin(), beginning_[step].end());
    std::ranges::sort(found_, {}, &Slot::offset);
    return found_;
  }

 private:
  std::size_t leaves_;
  std::vector<std::vector<const Slot*>> lasting_, beginning_;
  std::vector<const Slot*> found_;
};

/// The lowest offset where the slot meets none of those that live with it.
std::size_t lowest_gap(const Slot& slot, const std::vector<const Slot*>& others) {
  std::size_t offset = 0;
  for (const Slot* other : others) {
    if (offset + slot_bytes(slot.bytes) <= other->offset) break;
    offset = std::max(offset, other->offset + slot_bytes(other->bytes));
  }
  return offset;
}

std::size_t count_steps(std::span<const Slot> slots) {
  std::size_t last = 0;
  for (const Slot& slot : slots) last = std::max(last, slot.last_use);
  return last + 1;
}

/// First fit in the order of `key`, ties in the order of the slots. Returns the arena's size.
template <class Key>
std::size_t place_by(std::vector<Slot>& slots, Key key) {
  std::vector<std::size_t> order(slots.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return key(slots[k]); });
  PlacedSlots placed(count_steps(slots));
  std::size_t arena_bytes = 0;
  for (const std::size_t k : order) {
    Slot& slot = slots[k];
    slot.offset = lowest_gap(slot, placed.live_with(slot));
    arena_bytes = std::max(arena_bytes, slot.offset + slot_bytes(slot.bytes));
    placed.add(slot);
  }
  return arena_bytes;
}

}  // namespace

std::size_t slot_bytes(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

namespace {

std::vector<std::size_t> live_bytes(std::span<const Slot> slots) {
  std::vector<std::size_t> live(count_steps(slots) + 1);
  for (const Slot& slot : slots) {
    live[slot.first_use] += slot_bytes(slot.bytes);
    live[slot.last_use + 1] -= slot_bytes(slot.bytes);  // wraps around, and back in the sum
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

}  // namespace

std::size_t peak_bytes(std::span<const Slot> slots) { return std::ranges::max(live_bytes(slots)); }

std::size_t count_peak_steps(std::span<const Slot> slots) {
  const auto live = live_bytes(slots);
  return static_cast<std::size_t>(std::ranges::count(live, std::ranges::max(live)));
}

MemoryPlan plan_memory(std::vector<Slot> lifetimes) {
  MemoryPlan plan;
  plan.slots = std::move(lifetimes);
  plan.peak_bytes = peak_bytes(plan.slots);
  const auto size = [](const Slot& slot) { return ~slot.bytes; };
  plan.arena_bytes = place_by(plan.slots, size);
  // No order of placing is best for all; where one leaves gaps, others may leave none.
  const auto try_by = [&](auto key) {
    if (plan.arena_bytes == plan.peak_bytes) return;
    std::vector<Slot> slots = plan.slots;
    const std::size_t arena_bytes = place_by(slots, key);
    if (arena_bytes >= plan.arena_bytes) return;
    plan.slots = std::move(slots);
    plan.arena_bytes = arena_bytes;
  };
  const auto lifetime = [](const Slot& slot) { return ~(slot.last_use - slot.first_use); };
  try_by([](const Slot& slot) { return std::tuple(slot.first_use, ~slot.bytes); });
  try_by([&](const Slot& slot) { return std::tuple(lifetime(slot), ~slot.bytes); });
  try_by([&](const Slot& slot) { return ~((slot.last_use - slot.first_use + 1) * slot.bytes); });
  try_by([](const Slot& slot) { return std::tuple(~slot.last_use, ~slot.bytes); });
  return plan;
}

}  // namespace soapstone::runtime
