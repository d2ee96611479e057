// The work of others on the machine, told from what this process and its children do.
#include "core/base/machine_load.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/base/clock.h"

namespace soapstone::core {
namespace {

TEST(MachineLoad, ReadsTicks) {
  const auto load =
      parse_load("cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n", 10);
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->busy_s, 17.1);
  EXPECT_DOUBLE_EQ(load->idle_s, 45);
  EXPECT_FALSE(parse_load("", 100));
  EXPECT_FALSE(parse_load("cpu 1 2 3", 100));
  EXPECT_FALSE(parse_load("gpu 1 2 3 4 5 6 7 8", 100));
}

TEST(MachineLoad, OthersAreWhatIsNotOurs) {
  const LoadSample before{100, 200, 50, 10}, after{118, 202, 60, 20};
  const auto load = load_between(before, after);
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->others, 0.8);
  EXPECT_DOUBLE_EQ(load->idle, 0.2);
  EXPECT_TRUE(load->is_busy());
  EXPECT_FALSE(load_between(before, {101, 201, 51, 10.1})) << "too short";
}

TEST(MachineLoad, IsNotBusyWhereThereIsRoom) {
  EXPECT_FALSE((MachineLoad{0.1, 0}).is_busy()) << "all work is ours";
  EXPECT_FALSE((MachineLoad{40, 20}).is_busy()) << "there are processors that nobody uses";
}

void spin(double seconds) {
  const double end_s = wall_s() + 60, busy_s = process_cpu_s() + seconds;
  while (process_cpu_s() < busy_s && wall_s() < end_s) {
  }
}

TEST(MachineLoad, WhatChildrenDoIsOurs) {
  const auto before = sample_load();
  ASSERT_TRUE(before);
  const pid_t child = fork();
  if (child == 0) {
    spin(0.5);
    pause();
  }
  // While it lives it is counted apart.
  while (sample_load()->own_s < before->own_s + 0.4) usleep(20'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto after = sample_load();
  EXPECT_GE(after->own_s, before->own_s + 0.4) << "one that has ended, too";
  EXPECT_GE(after->busy_s, before->busy_s + 0.3);
}

/// A process whose parent has ended is no child of ours.
TEST(MachineLoad, WhatOthersDoIsNot) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto before = sample_load();
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild != 0) _exit(0);
    while (getppid() == child) usleep(1000);
    spin(0.6);
    (void)!write(ends[1], "x", 1);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  close(ends[1]);
  const auto after = sample_load();
  ASSERT_TRUE(before && after);
  EXPECT_LT(after->own_s - before->own_s, 0.3);
  EXPECT_GE(after->busy_s - before->busy_s - (after->own_s - before->own_s), 0.4);
}

}  // namespace
}  // namespace soapstone::core
