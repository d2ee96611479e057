// Random plans run on threads and, by the same programs, on processes: with the same bits.
#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/ranks/launch.h"
#include "parallel/ranks/mpi.h"
#include "parallel/running/pieces_of_values.h"
#include "parallel/running/rank_runner.h"
#include "runtime/collectives/virtual_ranks.h"
#include "tests/parallel/mpi_run.h"
#include "tests/parallel/random_networks.h"

namespace soapstone::parallel {
namespace {

using Values = std::vector<core::LiteralPtr>;

/// Results of the program of a rank on random inputs.
core::Result<Values> outputs_of(const RandomRun& run, std::size_t rank,
                                runtime::Collectives& ranks) {
  const std::vector<core::Literal> inputs = runtime::random_inputs(run.graph, 5);
  Values given;
  for (const HeldPiece& held : run.programs[rank].inputs) {
    const auto all = run.graph.inputs();
    const auto at = static_cast<std::size_t>(std::ranges::find(all, held.tensor) - all.begin());
    given.push_back(value_of_piece(std::make_shared<const core::Literal>(inputs[at]), held.piece));
  }
  const auto backend = runtime::make_reference_backend();
  SOAPSTONE_ASSIGN_OR_RETURN(
      RankRunner runner,
      RankRunner::make(run.programs[rank], Values(given.size()), *backend, runtime::Fusion::kNone));
  SOAPSTONE_RETURN_IF_ERROR(runner.connect(ranks));
  return runner.run(given);
}

std::vector<Values> outputs_on_threads(const RandomRun& run) {
  const auto ranks = runtime::make_virtual_ranks(static_cast<int>(run.programs.size()));
  std::vector<Values> outputs(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] {
      auto computed = outputs_of(run, r, *ranks[r]);
      ASSERT_TRUE(computed.ok()) << computed.error().to_string();
      outputs[r] = *std::move(computed);
    });
  for (std::thread& thread : threads) thread.join();
  return outputs;
}

/// The next of the random plans, for as many ranks as asked for.
std::optional<RandomRun> next_run(unsigned& seed, std::int64_t ranks) {
  for (;; ++seed) {
    const PlannedNetwork net = random_network(seed);
    RandomCuts random(net, seed);
    const PlannedCuts cuts = random.draw(2);
    if (cuts.mesh.rank_count() != ranks) continue;
    const Purpose purpose = seed % 2 == 0 ? Purpose::kTraining : Purpose::kInference;
    auto run = random_run(net, random, cuts, purpose);
    if (!run) continue;
    ++seed;
    return *std::move(run);
  }
}

void compare_with_threads(std::int64_t count) {
  if (launch_of_environment().is_alone()) {
    const test::MpiRun run = test::run_as_ranks(static_cast<int>(count));
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return;
  }
  const auto world = mpi_world({.waiting = Waiting::kSleep});
  ASSERT_TRUE(world);
  const auto rank = static_cast<std::size_t>((*world)->rank());
  unsigned seed = 0;
  for (int plan = 0; plan < random_plans(10); ++plan) {
    const auto run = next_run(seed, count);
    const Values expected = outputs_on_threads(*run)[rank];
    const auto outputs = outputs_of(*run, rank, **world);
    ASSERT_TRUE(outputs.ok()) << "seed " << seed << ": " << outputs.error().to_string();
    ASSERT_EQ(outputs->size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(std::ranges::equal((*outputs)[k]->bytes(), expected[k]->bytes()))
          << "seed " << seed << ", rank " << rank << ", result " << k;
  }
}

TEST(Mpi, TwoRanksRunRandomPlansWithTheBitsOfThreads) { compare_with_threads(2); }
TEST(Mpi, ThreeRanksRunRandomPlansWithTheBitsOfThreads) { compare_with_threads(3); }
TEST(Mpi, FourRanksRunRandomPlansWithTheBitsOfThreads) { compare_with_threads(4); }

}  // namespace
}  // namespace soapstone::parallel
