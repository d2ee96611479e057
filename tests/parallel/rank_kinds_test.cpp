// Virtual ranks and processes do the same, bit for bit.
#include <gtest/gtest.h>

#include <thread>

#include "parallel/ranks/launch.h"
#include "parallel/ranks/mpi.h"
#include "runtime/collectives/virtual_ranks.h"
#include "tests/parallel/mpi_run.h"
#include "tests/parallel/rank_checks.h"

namespace soapstone::parallel {
namespace {

using Record = std::vector<std::byte>;

/// The record of each virtual rank.
std::vector<Record> virtual_records(int size, const test::RankCheck& check) {
  auto ranks = runtime::make_virtual_ranks(size);
  std::vector<Record> records(ranks.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back([&, rank] {
      const core::Status status = check.run(*ranks[rank], records[rank]);
      EXPECT_TRUE(status.ok()) << check.name << ": " << status.error().to_string();
    });
  threads.clear();
  return records;
}

class RankKinds : public testing::TestWithParam<int> {};

TEST_P(RankKinds, VirtualRanksDoWhatTheyShould) {
  for (const test::RankCheck& check : test::rank_checks())
    EXPECT_EQ(virtual_records(GetParam(), check).size(), static_cast<std::size_t>(GetParam()));
}

TEST_P(RankKinds, ProcessesDoTheSame) {
  if (launch_of_environment().is_alone()) {
    const test::MpiRun run = test::run_as_ranks(GetParam());
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return;
  }
  // Odd numbers of ranks get their messages in small pieces.
  const bool is_odd = GetParam() % 2 == 1;
  const auto world = mpi_world({.most_bytes_at_once = is_odd ? 10000U : 1U << 30U,
                                .waiting = is_odd ? Waiting::kSleep : Waiting::kSpin});
  ASSERT_TRUE(world) << world.error().to_string();
  ASSERT_EQ((*world)->size(), GetParam());
  EXPECT_EQ(static_cast<std::size_t>((*world)->rank()), launch_of_environment().rank);
  for (const test::RankCheck& check : test::rank_checks()) {
    Record record;
    const core::Status status = check.run(**world, record);
    EXPECT_TRUE(status.ok()) << check.name << ": " << status.error().to_string();
    const auto wanted = virtual_records(GetParam(), check);
    EXPECT_TRUE(record == wanted[static_cast<std::size_t>((*world)->rank())]) << check.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RankKinds, testing::Values(2, 3, 4));

}  // namespace
}  // namespace soapstone::parallel
