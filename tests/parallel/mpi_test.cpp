// The real thing: each test runs itself once more under mpirun, as several processes, and looks how
// that ends when ranks fail.
#include "parallel/ranks/mpi.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "parallel/ranks/gather_bytes.h"
#include "parallel/ranks/launch.h"
#include "tests/parallel/mpi_run.h"

namespace soapstone::parallel {
namespace {

using core::DataType;
using runtime::Collectives;
using runtime::DeviceAddress;
using runtime::Elements;
using std::chrono::milliseconds;
using test::run_as_ranks;

Bytes message(std::size_t rank, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t k = 0; k < size; ++k) bytes[k] = static_cast<std::byte>(31 * rank + k);
  return bytes;
}

void expect_gathered(Collectives& world, const std::function<std::size_t(std::size_t)>& size_of) {
  const auto rank = static_cast<std::size_t>(world.rank());
  const auto all = gather_bytes(world, message(rank, size_of(rank)));
  ASSERT_TRUE(all) << all.error().to_string();
  ASSERT_EQ(all->size(), 3u);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_TRUE((*all)[r] == message(r, size_of(r)));
}

TEST(Mpi, GathersBytesOfAnySize) {
  if (launch_of_environment().is_alone()) {
    const test::MpiRun run = run_as_ranks(3);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return;
  }
  const auto world = mpi_world({.most_bytes_at_once = 1000});
  ASSERT_TRUE(world);
  expect_gathered(**world, [](std::size_t) { return 0; });
  expect_gathered(**world, [](std::size_t rank) { return rank; });
  expect_gathered(**world, [](std::size_t rank) { return rank == 1 ? 0 : 1000 * rank + 1; });
  expect_gathered(**world, [](std::size_t rank) { return 300000 - 777 * rank; });
}

/// The world of a rank that says on stderr why it ends all.
std::unique_ptr<Collectives> speaking_world(std::optional<milliseconds> limit) {
  MpiOptions options{.waiting = Waiting::kSpin, .time_limit = limit};
  options.on_abort = [](const std::string& reason) {
    std::fprintf(stderr, "ended: %s\n", reason.c_str());
  };
  auto world = mpi_world(options);
  if (!world) std::_Exit(9);
  return *std::move(world);
}

/// Ends all if the status is an error, as a command does.
void end_if_failed(Collectives& world, const core::Status& status) {
  if (!status) world.abort(status.error().to_string());
}

Elements elements_of(std::vector<float>& values) {
  return {DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data())),
          static_cast<std::int64_t>(values.size()), DataType::kFloat32};
}

core::Status sum(Collectives& world, std::vector<float>& values) {
  const Elements all = elements_of(values);
  return world.all_reduce(all, all.address, runtime::Reduction::kSum);
}

/// It is killed when the others end.
void stay_away() { std::this_thread::sleep_for(std::chrono::minutes(2)); }

void expect_end(int ranks, const std::string& reason) {
  const test::MpiRun run = run_as_ranks(ranks);
  EXPECT_EQ(run.exit_code, 7) << run.output;
  EXPECT_NE(run.output.find("ended: "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find(reason), std::string::npos) << run.output;
}

TEST(Mpi, AnAbortFromAnotherThreadEndsAll) {
  if (launch_of_environment().is_alone()) return expect_end(3, "rank 1 has no memory left");
  const auto world = speaking_world(std::nullopt);
  const std::jthread other([&] {
    if (world->rank() == 1) world->abort("rank 1 has no memory left");
  });
  std::vector<float> value{1};
  (void)world->receive(elements_of(value), 0);  // Nobody sends.
}

TEST(Mpi, ARankThatDoesNotComeEndsAll) {
  if (launch_of_environment().is_alone())
    return expect_end(2, "all_reduce of 1 f32, sum: no call of rank 1 within 200 ms");
  const auto world = speaking_world(milliseconds(200));
  std::vector<float> value{1};
  if (world->rank() == 1) stay_away();
  end_if_failed(*world, sum(*world, value));
}

TEST(Mpi, ARankThatDoesNotComeToASubsetEndsAll) {
  if (launch_of_environment().is_alone()) return expect_end(3, "no call of rank");
  const auto world = speaking_world(milliseconds(200));
  if (world->rank() == 0) stay_away();
  const auto part = world->subset(std::vector<int>{1, 2});
  if (!part) world->abort(part.error().to_string());
  if (world->rank() == 2) stay_away();
  std::vector<float> values(100000);
  end_if_failed(*world, sum(**part, values));
}

TEST(Mpi, AMessageThatIsNotSentEndsAll) {
  if (launch_of_environment().is_alone())
    return expect_end(2, "no message from rank 0 to rank 1 within 200 ms");
  const auto world = speaking_world(milliseconds(200));
  if (world->rank() == 0) stay_away();
  std::vector<float> value{1};
  end_if_failed(*world, world->receive(elements_of(value), 0));
}

TEST(Mpi, AMessageThatIsNotTakenEndsAll) {
  if (launch_of_environment().is_alone())
    return expect_end(2, "a message of rank 0 was not taken by rank 1 within 200 ms");
  const auto world = speaking_world(milliseconds(200));
  if (world->rank() == 1) stay_away();
  std::vector<float> values(1000000);
  end_if_failed(*world, world->send(elements_of(values), 1));
  end_if_failed(*world, world->wait());
}

/// It waits for the others to end, and they for it.
TEST(Mpi, ARankThatLeavesEndsAll) {
  if (launch_of_environment().is_alone())
    return expect_end(2, "all_reduce of 1 f32, sum: no call of rank 1 within 200 ms");
  const auto world = speaking_world(milliseconds(200));
  std::vector<float> value{1};
  if (world->rank() == 0) end_if_failed(*world, sum(*world, value));
}

TEST(Mpi, MessagesOfAnotherSizeEndAll) {
  if (launch_of_environment().is_alone()) {
    expect_end(2, "rank 0 sends 4 bytes, and rank 1 waits for 8");
    setenv("SOAPSTONE_TEST_LONGER", "1", 1);
    expect_end(2, "rank 0 sends more than the 8 bytes that rank 1 waits for");
    unsetenv("SOAPSTONE_TEST_LONGER");
    return;
  }
  const auto world = speaking_world(std::nullopt);
  std::vector<float> out(std::getenv("SOAPSTONE_TEST_LONGER") != nullptr ? 3 : 1), in(2);
  if (world->rank() == 0) {
    end_if_failed(*world, world->send(elements_of(out), 1));
    stay_away();
  }
  end_if_failed(*world, world->receive(elements_of(in), 0));
}

/// Rank 1 is killed while rank 0 waits in each of the calls.
class MpiKilled : public testing::TestWithParam<int> {};

core::Status call(Collectives& world, int number) {
  std::vector<float> values(200000), more(400000);
  const Elements some = elements_of(values), all = elements_of(more);
  switch (number) {
  case 0:
    return sum(world, values);
  case 1:
    return world.reduce_scatter(all.address, some, runtime::Reduction::kSum);
  case 2:
    return world.all_gather(some, all.address);
  case 3:
    return world.broadcast(some, 1);
  case 4:
    return world.all_to_all(all.address, some);
  case 5:
    return world.receive(some, 1);
  default:
    SOAPSTONE_RETURN_IF_ERROR(world.send(some, 1));
    return world.wait();
  }
}

TEST_P(MpiKilled, ARankEndsAll) {
  if (launch_of_environment().is_alone()) {
    const test::MpiRun run = run_as_ranks(2);
    EXPECT_NE(run.exit_code, 0) << run.output;
    EXPECT_NE(run.output.find("signal 9"), std::string::npos) << run.output;
    return;
  }
  const auto world = speaking_world(std::nullopt);
  std::vector<float> value{1};
  EXPECT_TRUE(sum(*world, value)) << "both are there";
  if (world->rank() == 1) std::raise(SIGKILL);
  const core::Status status = call(*world, GetParam());
  ADD_FAILURE() << "it goes on: " << (status ? "done" : status.error().to_string());
}

INSTANTIATE_TEST_SUITE_P(Calls, MpiKilled, testing::Range(0, 7));

TEST(MpiLaunch, IsReadFromTheEnvironment) {
  EXPECT_TRUE(launch_of_environment().is_alone());
  EXPECT_GE(jobs_of_rank(launch_of_environment()), 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000000", 1);
  const MpiLaunch launch = launch_of_environment();
  EXPECT_EQ(launch.ranks, 4u);
  EXPECT_EQ(launch.rank, 3u);
  EXPECT_EQ(jobs_of_rank(launch), 1);
  setenv("OMPI_COMM_WORLD_RANK", "4", 1);
  EXPECT_TRUE(launch_of_environment().is_alone()) << "a rank that cannot be";
  setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
  EXPECT_TRUE(launch_of_environment().is_alone());
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
}

}  // namespace
}  // namespace soapstone::parallel
