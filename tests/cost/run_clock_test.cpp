// The clock leaves out what a busy machine adds.
#include "cost/timing/run_clock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

namespace soapstone::cost {
namespace {

double processor_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void work() {
  volatile double x = 1;
  for (int i = 0; i < 20'000'000; ++i) x = x * 1.0000001;
}

TEST(RunClock, CountsSleepingButNotWaitingForACore) {
  const RunClock clock;
  const double slept_us =
      clock.time_us([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  EXPECT_GE(slept_us, 15'000);

  // More competitors than cores: on wall time the work would take several times as long.
  std::vector<pid_t> competitors;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) work();
    }
    competitors.push_back(child);
  }
  const double before_us = processor_us();
  const double timed_us = clock.time_us(work);
  const double used_us = processor_us() - before_us;
  for (const pid_t child : competitors) kill(child, SIGKILL);
  for (const pid_t child : competitors) waitpid(child, nullptr, 0);
  if (access("/proc/thread-self/schedstat", R_OK) != 0) GTEST_SKIP() << "no waiting times here";
  EXPECT_NEAR(timed_us, used_us, 0.3 * used_us);
}

TEST(RunClock, MayBeMoved) {
  RunClock first;
  RunClock second = std::move(first);
  EXPECT_GT(second.time_us(work), 0);
  second = RunClock();
  EXPECT_GT(second.time_us(work), 0);
}

}  // namespace
}  // namespace soapstone::cost
