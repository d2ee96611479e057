// Slots that live at the same time share no byte, and the arena is no larger than it must be by
// much.
#include "runtime/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace soapstone::runtime {
namespace {

using Slot = MemoryPlan::Slot;

bool live_together(const Slot& a, const Slot& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

bool share_bytes(const Slot& a, const Slot& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

void expect_valid(const MemoryPlan& plan) {
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& a = plan.slots[i];
    EXPECT_EQ(a.offset % 64, 0u);
    EXPECT_LE(a.offset + a.bytes, plan.arena_bytes);
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_FALSE(live_together(a, plan.slots[k]) && share_bytes(a, plan.slots[k]))
          << "slots " << k << " and " << i;
  }
  EXPECT_GE(plan.arena_bytes, plan.peak_bytes);
}

TEST(MemoryPlan, ReusesBytesOfTheDead) {
  const MemoryPlan plan = plan_memory({{core::TensorId(0), 0, 1024, 0, 1},
                                       {core::TensorId(1), 0, 1024, 1, 2},
                                       {core::TensorId(2), 0, 1024, 2, 3}});
  expect_valid(plan);
  EXPECT_EQ(plan.arena_bytes, 2048u);
  EXPECT_EQ(plan.peak_bytes, 2048u);
}

TEST(MemoryPlan, FillsGaps) {
  const MemoryPlan plan = plan_memory({{core::TensorId(0), 0, 640, 0, 9},
                                       {core::TensorId(1), 0, 512, 0, 1},
                                       {core::TensorId(2), 0, 128, 2, 3},
                                       {core::TensorId(3), 0, 384, 2, 3}});
  expect_valid(plan);
  EXPECT_EQ(plan.arena_bytes, 1152u);
}

TEST(MemoryPlan, NothingNeedsNothing) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(plan.peak_bytes, 0u);
}

TEST(MemoryPlan, LiveSlotsNeverOverlap) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Slot> slots;
    const std::size_t count = random() % 40;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = random() % 30, bytes = random() % 2000;
      slots.push_back({core::TensorId(i), 0, bytes, first, first + random() % 8});
    }
    expect_valid(plan_memory(slots));
  }
}

}  // namespace
}  // namespace soapstone::runtime
