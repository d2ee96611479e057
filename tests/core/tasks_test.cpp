// Work for several threads.
#include "core/tasks/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace soapstone::core {
namespace {

using testing::Each;

/// Lets two tasks go on at the same time. It orders nothing else, so it hides no race.
class Meeting {
 public:
  /// False: the other one did not come.
  bool meet() {
    arrived_.fetch_add(1, std::memory_order_relaxed);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (arrived_.load(std::memory_order_relaxed) < 2) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::atomic<int> arrived_ = 0;
};

TEST(Tasks, LoopsCallEachIndexOnce) {
  std::vector<int> calls(1000), uneven(1000), ranges(1000);
  parallel_for(10, calls.size(), [&](std::size_t k) { ++calls[k]; });
  EXPECT_THAT(std::vector(calls.begin(), calls.begin() + 10), Each(0));
  EXPECT_THAT(std::vector(calls.begin() + 10, calls.end()), Each(1));
  parallel_for_uneven(0, uneven.size(), [&](std::size_t k) { ++uneven[k]; });
  EXPECT_THAT(uneven, Each(1));
  parallel_for_ranges(ranges.size(), 64, [&](const auto& range) {
    for (std::size_t k = range.begin(); k < range.end(); ++k) ++ranges[k];
  });
  EXPECT_THAT(ranges, Each(1));
}

TEST(Tasks, ARangeThatIsNotLongerThanTheGrainIsOneTask) {
  std::atomic<int> calls = 0;
  parallel_for_ranges(64, 64, [&](const auto&) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Tasks, AnArenaHasTheThreadsThatWereAskedFor) {
  EXPECT_EQ(TaskArena(3).threads(), 3U);
  EXPECT_GE(TaskArena(0).threads(), 1U);
  TaskArena alone(1);
  std::vector<std::thread::id> threads(100);
  alone.parallel_for(0, threads.size(),
                     [&](std::size_t k) { threads[k] = std::this_thread::get_id(); });
  EXPECT_THAT(threads, Each(std::this_thread::get_id()));
}

TEST(Tasks, TwoPiecesOfWorkRunAtTheSameTime) {
  Meeting meeting;
  int met = 0, also_met = 0;
  TaskArena(2).run([&] {
    run_both([&] { met = meeting.meet() ? 1 : 0; }, [&] { also_met = meeting.meet() ? 1 : 0; });
  });
  EXPECT_EQ(met + also_met, 2);
}

TEST(Tasks, EachThreadHasItsOwnValue) {
  Meeting meeting;
  PerThread<std::vector<std::thread::id>> values;
  TaskArena(2).parallel_for(0, 2, [&](std::size_t) {
    meeting.meet();
    values.local().push_back(std::this_thread::get_id());
  });
  EXPECT_EQ(values.size(), 2U);
  for (const auto& value : values) EXPECT_EQ(value.size(), 1U);
}

#if defined(__SANITIZE_THREAD__)
/// The annotations must hide no race that is ours.
TEST(TasksDeathTest, TheThreadSanitizerFindsARaceBetweenTasks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto race = [] {
    Meeting meeting;
    std::vector<int> shared(1000);  // It may miss one that both write at the very same time.
    TaskArena(2).parallel_for(0, 2, [&](std::size_t) {
      meeting.meet();
      for (int& element : shared) ++element;
    });
    std::exit(0);  // The sanitizer makes it 66.
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
}  // namespace soapstone::core
