// The real thing: each test runs itself once more under mpirun, as several processes.
#include "parallel/ranks/mpi.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "parallel/ranks/launch.h"

namespace soapstone::parallel {
namespace {

/// The exit code of this test under mpirun.
int run_as_ranks(int count) {
  // Root, and more ranks than cores, are what mpirun refuses otherwise; its leaks are its own.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string command = "mpirun -n " + std::to_string(count) + " /proc/" +
                              std::to_string(getpid()) +
                              "/exe --gtest_filter=" + test->test_suite_name() + "." + test->name();
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Bytes message(std::size_t rank, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t k = 0; k < size; ++k) bytes[k] = static_cast<std::byte>(31 * rank + k);
  return bytes;
}

void expect_gathered(Communicator& world, const std::function<std::size_t(std::size_t)>& size_of) {
  const auto all = world.all_gather(message(world.rank(), size_of(world.rank())));
  ASSERT_TRUE(all) << all.error().to_string();
  ASSERT_EQ(all->size(), 3u);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_TRUE((*all)[r] == message(r, size_of(r)));
}

TEST(Mpi, GathersMessagesOfAnySize) {
  if (launch_of_environment().is_alone()) {
    EXPECT_EQ(run_as_ranks(3), 0);
    return;
  }
  const auto world = mpi_world({.most_bytes_at_once = 1000});
  ASSERT_TRUE(world);
  EXPECT_EQ((*world)->size(), 3u);
  EXPECT_EQ((*world)->rank(), launch_of_environment().rank);
  expect_gathered(**world, [](std::size_t) { return 0; });
  expect_gathered(**world, [](std::size_t rank) { return rank; });
  expect_gathered(**world, [](std::size_t rank) { return rank == 1 ? 0 : 1000 * rank + 1; });
  expect_gathered(**world, [](std::size_t rank) { return 300000 - 777 * rank; });
}

TEST(Mpi, AbortEndsAllWithItsCode) {
  if (launch_of_environment().is_alone()) {
    EXPECT_EQ(run_as_ranks(3), 7);
    return;
  }
  const auto world = mpi_world();
  ASSERT_TRUE(world);
  if ((*world)->rank() == 1) (*world)->abort(7);
  (void)(*world)->all_gather({});  // waits for the one that has gone
}

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
