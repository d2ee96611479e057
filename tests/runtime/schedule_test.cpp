// Orders with a low peak: equal to the best of all orders on small random models, and by the real
// plan on graphs whose best peak is known.
#include "runtime/memory/schedule.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/memory/memory_schedule.h"
#include "tests/runtime/random_graph.h"

namespace soapstone::runtime::test {
namespace {

/// Each unit makes one slot and reads some that others made.
ScheduleModel random_model(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  ScheduleModel model;
  for (std::uint32_t u = 0; u < count; ++u) {
    ScheduleModel::Unit unit;
    for (std::uint32_t other = 0; other < u; ++other)
      if (random() % 3 == 0) unit.before.push_back(other);
    unit.slots = unit.before;
    unit.slots.push_back(u);
    unit.writes = {u};
    const std::size_t bytes = 64 * (1 + random() % 16);
    for (const std::uint32_t other : unit.before) {
      model.units[other].after.push_back(u);
      model.slots[other].users.push_back(u);
      if (model.slots[other].bytes == bytes && random() % 2 == 0) unit.overwrites = other;
    }
    model.slots.push_back({bytes, random() % 8 == 0, {u}});
    model.units.push_back(std::move(unit));
  }
  return model;
}

bool is_possible(const ScheduleModel& model, const std::vector<std::uint32_t>& order) {
  std::vector<bool> done(model.units.size());
  for (const std::uint32_t u : order) {
    for (const std::uint32_t other : model.units[u].before)
      if (!done[other]) return false;
    done[u] = true;
  }
  return std::ranges::count(done, true) == static_cast<std::ptrdiff_t>(model.units.size());
}

std::size_t best_of_all_orders(const ScheduleModel& model) {
  std::vector<std::uint32_t> order(model.units.size());
  std::iota(order.begin(), order.end(), 0);
  std::size_t best = peak_of(model, order);
  do {
    if (is_possible(model, order)) best = std::min(best, peak_of(model, order));
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(Schedule, SmallModelsComeToTheBestOfAllOrders) {
  int optimal = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ScheduleModel model = random_model(seed, 3 + seed % 5);
    const Schedule schedule = schedule_units(model);
    ASSERT_TRUE(is_possible(model, schedule.order));
    EXPECT_EQ(schedule.peak_bytes, peak_of(model, schedule.order));
    const std::size_t best = best_of_all_orders(model);
    EXPECT_GE(schedule.peak_bytes, best);
    if (schedule.optimal) {
      EXPECT_EQ(schedule.peak_bytes, best);
    }
    optimal += schedule.optimal ? 1 : 0;
  }
  EXPECT_GE(optimal, 50);  // the others have results that nothing reads, before a cut
}

TEST(Schedule, LargeModelsGetNoWorse) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const ScheduleModel model = random_model(seed, 150);
    std::vector<std::uint32_t> given(model.units.size());
    std::iota(given.begin(), given.end(), 0);
    const Schedule schedule = schedule_units(model);
    ASSERT_TRUE(is_possible(model, schedule.order));
    EXPECT_EQ(schedule.peak_bytes, peak_of(model, schedule.order));
    EXPECT_LE(schedule.peak_bytes, peak_of(model, given));
  }
}

/// Branches that widen and narrow, written breadth first: depth first needs one wide one at a time.
core::Graph breadth_first(int branches) {
  std::string wide, narrow, sum = "  s0 = relu(x)\n";
  for (int k = 0; k < branches; ++k) {
    const std::string n = std::to_string(k);
    wide += "  w" + n + " = matmul(x, a)\n  t" + n + " = tanh(w" + n + ")\n";
    narrow += "  n" + n + " = matmul(t" + n + ", b)\n";
    sum += "  s" + std::to_string(k + 1) + " = mul(s" + n + ", n" + n + ")\n";
  }
  return parse("\n  x: f32[16, 16]\n  a: f32[16, 256]\n  b: f32[256, 16]\n" + wide + narrow + sum +
               "  return s" + std::to_string(branches) + "\n");
}

TEST(Schedule, RunsBranchesOneAfterTheOther) {
  const auto backend = make_reference_backend();
  const core::Graph graph = breadth_first(6);
  const std::size_t element = 4, narrow = element * 16 * 16, wide = element * 16 * 256;
  EXPECT_EQ(memory_use(graph, *backend, Fusion::kNone).live_bytes, 7 * wide);
  const OrderedGraph ordered = order_for_memory(graph, *backend, Fusion::kNone);
  // While a tanh runs there are its argument, its result, and the product so far.
  EXPECT_EQ(ordered.use.live_bytes, 2 * wide + narrow);
  EXPECT_TRUE(same_structure(ordered.graph, graph));
  expect_right(ordered.graph, *backend, Fusion::kNone);
}

TEST(Schedule, WhatIsForetoldIsAllocated) {
  const auto backend = make_reference_backend();
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const core::Graph graph = RandomGraph(seed).make(24);
    for (const Fusion fusion : {Fusion::kNone, Fusion::kFull}) {
      const MemoryUse before = memory_use(graph, *backend, fusion);
      const OrderedGraph ordered = order_for_memory(graph, *backend, fusion);
      EXPECT_LE(ordered.use.peak_bytes, before.peak_bytes);
      ASSERT_TRUE(same_structure(ordered.graph, graph));
      const Executable program = executable(ordered.graph, *backend, fusion);
      EXPECT_EQ(program.report().arena_bytes, ordered.use.peak_bytes);
      EXPECT_EQ(program.report().peak_activation_bytes, ordered.use.live_bytes);
      expect_right(ordered.graph, *backend, fusion);
    }
  }
}

TEST(Schedule, SmallGraphsWithoutFusionComeToWhatIsPromised) {
  // Without fusion the order of nodes is the order of launches: the model is exact.
  const auto backend = make_reference_backend();
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const core::Graph graph = RandomGraph(seed).make(10);
    const ExecutionPlan plan = plan_execution(graph, *backend, Fusion::kNone);
    const std::vector<std::optional<std::size_t>> in_place(plan.launches.size());
    const ScheduleModel model = make_schedule_model(graph, plan, in_place);
    std::vector<std::uint32_t> given(model.units.size());
    std::iota(given.begin(), given.end(), 0);
    EXPECT_EQ(peak_of(model, given), memory_use(graph, *backend, Fusion::kNone).live_bytes);
    const Schedule schedule = schedule_units(model);
    const OrderedGraph ordered = order_for_memory(graph, *backend, Fusion::kNone);
    if (schedule.optimal) {
      EXPECT_LE(schedule.peak_bytes, ordered.use.live_bytes);
    }
  }
}

}  // namespace
}  // namespace soapstone::runtime::test
