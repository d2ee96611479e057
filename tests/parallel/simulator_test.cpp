// Simulations: changes against simulations from the start, these against a simulation that tells
// all, and schedules that are known.
#include "parallel/simulation/simulator.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "parallel/simulation/problem_builder.h"
#include "parallel/simulation/timeline.h"
#include "parallel/topology/presets.h"
#include "tests/parallel/random_problem.h"

namespace soapstone::parallel {
namespace {

/// A move of a few operators, as owned data.
struct Move {
  std::vector<PlacementChange> changes;
  std::vector<std::uint8_t> devices;
};

Move random_move(std::mt19937& random, const PlacementProblem& problem) {
  Move move;
  const std::size_t length = 1 + random() % 3;
  const std::size_t first = random() % problem.operators.size();
  for (std::size_t op = first; op < std::min(first + length, problem.operators.size()); ++op) {
    const auto choice = static_cast<std::uint16_t>(random() % problem.operators[op].configurations);
    move.changes.push_back({static_cast<std::uint32_t>(op), choice, {}});
    for (std::size_t k = 0; k < problem.configuration(op, choice).parts; ++k)
      move.devices.push_back(static_cast<std::uint8_t>(random() % problem.device_count));
  }
  std::size_t at = 0;
  for (PlacementChange& change : move.changes) {
    const std::size_t parts = problem.configuration(change.op, change.choice).parts;
    change.devices = std::span(move.devices).subspan(at, parts);
    at += parts;
  }
  return move;
}

void apply(const PlacementProblem& problem, const Move& move, Placement& placement) {
  for (const PlacementChange& change : move.changes) {
    placement.choice[change.op] = change.choice;
    std::copy(change.devices.begin(), change.devices.end(),
              placement.device.begin() + problem.operators[change.op].first_slot);
  }
}

bool fits(const PlacementProblem& problem, const Placement& placement) {
  std::vector<double> held(problem.device_count);
  for (std::size_t op = 0; op < problem.operators.size(); ++op) {
    const Configuration& chosen = problem.configuration(op, placement.choice[op]);
    for (std::size_t part = 0; part < chosen.parts; ++part)
      held[placement.device[problem.operators[op].first_slot + part]] += chosen.resident_bytes;
  }
  for (std::size_t d = 0; d < held.size(); ++d)
    if (held[d] > problem.memory_bytes[d]) return false;
  return true;
}

class RandomMoves : public testing::TestWithParam<unsigned> {};

TEST_P(RandomMoves, GiveWhatASimulationFromTheStartGives) {
  std::mt19937 random(GetParam());
  constexpr std::array kSizes = {RandomProblemSize{1, 2, 3, 2, 1}, RandomProblemSize{2, 2, 8, 4, 2},
                                 RandomProblemSize{4, 4, 30, 16, 4},
                                 RandomProblemSize{2, 4, 60, 8, 2}};
  const PlacementProblem problem = random_problem(random, kSizes[GetParam() % kSizes.size()]);
  Placement placement = random_placement(random, problem);
  while (!fits(problem, placement)) placement = random_placement(random, problem);
  Simulator simulator(problem), fresh(problem);
  simulator.full(placement);
  int made = 0;
  for (int k = 0; k < 2500; ++k) {
    const Move move = random_move(random, problem);
    Placement moved = placement;
    apply(problem, move, moved);
    const Ticks expected = fresh.full(moved);
    ASSERT_EQ(fits(problem, moved), expected < std::numeric_limits<Ticks>::max());
    const Ticks limit = simulator.time() + static_cast<Ticks>(random() % 3) * 500'000;
    const auto changed = simulator.change(move.changes, limit);
    ASSERT_EQ(changed.has_value(), expected <= limit) << "move " << k;
    if (changed) {
      ++made;
      ASSERT_EQ(*changed, expected) << "move " << k;
      ASSERT_EQ(simulator.time(), expected);
      ASSERT_EQ(simulator.placement().choice, moved.choice);
      if (k % 5 == 0)
        simulator.undo();
      else
        placement = moved;
    }
    if (k % 50 == 0) {
      const Ticks now = fresh.full(placement);
      ASSERT_EQ(simulator.time(), now);
      ASSERT_EQ(simulate(problem, placement, {}).end, now);
    }
  }
  EXPECT_GT(made, 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMoves, testing::Range(0U, 40U));

/// One device kind, `per_node` devices a node; 1 GB/s inside, 0.5 GB/s between.
Topology small_machine(std::int64_t nodes, std::int64_t per_node) {
  const DeviceKind kind{"d", "d", 1e9, 1e9, {{core::DataType::kFloat32, 1e9}}};
  return *Topology::make(Hierarchy{"small",
                                   {kind},
                                   {{0, nodes * per_node}},
                                   {{"in", per_node, 1, 1e9}, {"out", nodes, 2, 5e8, per_node}}});
}

ConfigurationSpec whole(double us) { return {1, {us}, {}, 0, 0}; }

/// `from` feeds `first` and `second` with 1000 bytes each (1 us inside a node).
PlacementProblem fork(const Topology& topology, std::size_t per_node) {
  ProblemBuilder builder = *ProblemBuilder::make(topology, per_node);
  const auto from = builder.add_operator("from", {whole(10)});
  const auto all = [](std::size_t, std::size_t) { return sample_overlaps({}, {}, 1000); };
  for (const double us : {5.0, 7.0}) {
    const auto reader = builder.add_operator("reader", {whole(us)});
    builder.add_edge(from, reader, all);
  }
  return *builder.finish();
}

TEST(Timeline, TransfersWaitOnlyWhereLinksAreShared) {
  const PlacementProblem problem = fork(small_machine(1, 3), 3);
  const Placement apart{{0, 0, 0}, {0, 1, 2}};
  const auto end_us = [&](Links links) {
    return to_us(simulate(problem, apart, {links, Synchronization::kAfterLast}).end);
  };
  EXPECT_DOUBLE_EQ(end_us(Links::kUnshared), 10 + 2 + 7);
  EXPECT_DOUBLE_EQ(end_us(Links::kInTurn), 10 + 1 + 2 + 7);  // The second one waits for the first.
  EXPECT_DOUBLE_EQ(end_us(Links::kFairShare), 10 + 2 + 1 + 7);  // Both at half the rate.
  const Placement together{{0, 0, 0}, {0, 0, 0}};
  const Timeline timeline = simulate(problem, together, {});
  EXPECT_DOUBLE_EQ(to_us(timeline.end), 22);
  EXPECT_TRUE(timeline.transfers.empty());
  EXPECT_EQ(timeline.critical_path(), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(timeline.idle_share(0), 0);
  EXPECT_DOUBLE_EQ(timeline.idle_share(1), 1);
}

TEST(Timeline, ThePathGoesThroughWhatWasWaitedFor) {
  const PlacementProblem problem = fork(small_machine(1, 3), 3);
  const Timeline timeline = simulate(problem, {{0, 0, 0}, {0, 1, 2}}, {Links::kInTurn, {}});
  const auto path = timeline.critical_path();
  ASSERT_EQ(path.size(), 2U);
  EXPECT_EQ(timeline.parts[path[1]].op, 2U);
  ASSERT_NE(timeline.parts[path[1]].through, kNoRun);
  const TransferRun& transfer = timeline.transfers[timeline.parts[path[1]].through];
  EXPECT_DOUBLE_EQ(to_us(transfer.ready), 10);
  EXPECT_DOUBLE_EQ(to_us(transfer.start), 11);
  EXPECT_DOUBLE_EQ(to_us(transfer.end), 13);
}

TEST(Timeline, WeightsAreSynchronizedAfterwardsOrMeanwhile) {
  const Topology topology = small_machine(2, 2);
  ProblemBuilder builder = *ProblemBuilder::make(topology, 2);
  const auto first = builder.add_operator("first", {{2, {10}, {}, 0, 0}});
  const auto second = builder.add_operator("second", {{2, {20}, {}, 0, 0}});
  builder.add_edge(first, second, [](std::size_t, std::size_t) {
    return sample_overlaps({2, 1}, {2, 1}, 0);
  });
  const SyncCost cost = [](double bytes, std::size_t most, std::size_t nodes) {
    return bytes * static_cast<double>(most + 10 * nodes);
  };
  builder.add_group({first}, 1, cost);
  builder.add_group({second}, 0.5, cost);
  const PlacementProblem problem = *builder.finish();
  const Placement placement{{0, 0}, {0, 1, 0, 1}};
  EXPECT_DOUBLE_EQ(to_us(simulate(problem, placement, {}).end), 30 + 12 + 6);
  const SimulationModel overlapped{Links::kUnshared, Synchronization::kOverlapped};
  EXPECT_DOUBLE_EQ(to_us(simulate(problem, placement, overlapped).end), 30 + 6);
  const Placement across{{0, 0}, {0, 2, 0, 2}};
  EXPECT_DOUBLE_EQ(to_us(simulate(problem, across, {}).end), 30 + 21 + 10.5);
}

TEST(Timeline, SharedLinksAreNeverFaster) {
  std::mt19937 random(7);
  for (int k = 0; k < 200; ++k) {
    const PlacementProblem problem = random_problem(random, {2, 2, 10, 4, 2});
    const Placement placement = random_placement(random, problem);
    for (const Links links : {Links::kInTurn, Links::kFairShare}) {
      const Timeline shared = simulate(problem, placement, {links, {}});
      std::size_t parts = 0;
      for (std::size_t op = 0; op < problem.operators.size(); ++op)
        parts += problem.configuration(op, placement.choice[op]).parts;
      ASSERT_EQ(shared.parts.size(), parts);
      for (const TransferRun& transfer : shared.transfers) {
        const std::size_t pair = transfer.from_device * problem.device_count + transfer.to_device;
        ASSERT_GE(transfer.end - transfer.ready + 2,
                  to_ticks(problem.paths[problem.path_class[pair]].us(transfer.bytes)));
      }
    }
  }
}

TEST(Timeline, MemoryIsHeldUntilTheLastReader) {
  ProblemBuilder builder = *ProblemBuilder::make(small_machine(1, 2), 2);
  const auto from = builder.add_operator("from", {{1, {10}, {}, 5, 100}});
  const auto reader = builder.add_operator("reader", {{1, {20}, {}, 7, 1000}});
  builder.add_edge(from, reader,
                   [](std::size_t, std::size_t) { return sample_overlaps({}, {}, 1000); });
  const PlacementProblem problem = *builder.finish();
  const Placement placement{{0, 0}, {0, 1}};
  const auto memory = memory_over_time(problem, placement, simulate(problem, placement, {}));
  ASSERT_EQ(memory[0].size(), 2U);
  EXPECT_EQ(memory[0][0].bytes, 105);
  EXPECT_EQ(to_us(memory[0][1].from), 32);
  EXPECT_EQ(memory[0][1].bytes, 5);
  ASSERT_EQ(memory[1].size(), 4U);
  EXPECT_EQ(memory[1][1].bytes, 1007);  // The copy, from the end of `from`.
  EXPECT_EQ(memory[1][2].bytes, 2007);
  EXPECT_EQ(memory[1][3].bytes, 7);
}

TEST(Simulator, RefusesWhatDoesNotFitInMemory) {
  ProblemBuilder builder = *ProblemBuilder::make(small_machine(1, 2), 2);
  for (int k = 0; k < 2; ++k) builder.add_operator("op", {{1, {10}, {}, 6e8, 0}});
  const PlacementProblem problem = *builder.finish();
  Simulator simulator(problem);
  EXPECT_EQ(to_us(simulator.full({{0, 0}, {0, 1}})), 10);
  const std::array<std::uint8_t, 1> device = {0};
  const PlacementChange change{1, 0, device};
  EXPECT_FALSE(simulator.change({&change, 1}, simulator.time() * 10));
  EXPECT_EQ(simulator.placement().device[1], 1);
}

TEST(ProblemBuilder, RefusesMoreDevicesThanItCanName) {
  const auto builder = ProblemBuilder::make(*preset_topology("dgx-a100x16"), 8);
  ASSERT_FALSE(builder);
  EXPECT_EQ(builder.error().code, core::ErrorCode::kUnsupported);
}

TEST(ProblemBuilder, OverlapsOfCutsCoverTheTensor) {
  for (const SampleGrid from : {SampleGrid{1, 1}, SampleGrid{4, 2}, SampleGrid{2, 8}})
    for (const SampleGrid to : {SampleGrid{1, 1}, SampleGrid{8, 1}, SampleGrid{2, 4}}) {
      std::vector<double> received(static_cast<std::size_t>(to.samples) *
                                   static_cast<std::size_t>(to.outputs));
      for (const OverlapSpec& overlap : sample_overlaps(from, to, 1024))
        received[overlap.to_part] += overlap.bytes;
      for (const double bytes : received) EXPECT_DOUBLE_EQ(bytes, 1024.0 / to.samples);
    }
}

}  // namespace
}  // namespace soapstone::parallel
