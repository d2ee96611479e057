// Threads that share loops and work ahead.
#include "core/tasks/crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace soapstone::core {
namespace {

using testing::Each;

TEST(Crew, CallsEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    Crew crew(threads);
    EXPECT_EQ(crew.threads(), static_cast<std::size_t>(threads));
    for (const std::size_t count : {0, 1, 3, 1000}) {
      std::vector<int> calls(count);
      crew.each(count, [&](std::size_t k) { ++calls[k]; });
      EXPECT_THAT(calls, Each(1));
    }
  }
  EXPECT_GE(Crew(0).threads(), 1U);
}

TEST(Crew, ThrowsWhatALoopThrows) {
  for (const int threads : {1, 3}) {
    Crew crew(threads);
    std::atomic<int> calls = 0;
    const auto fail = [&](std::size_t k) {
      ++calls;
      if (k == 2) throw std::runtime_error("two");
    };
    EXPECT_THROW(crew.each(100'000, fail), std::runtime_error);
    EXPECT_LT(calls, 100'000);
    calls = 0;
    crew.each(2, fail);
    EXPECT_EQ(calls, 2);
  }
}

/// While the calling thread does something else, and while it waits for the last one of a loop.
TEST(Crew, WorksAheadWithNothingElseToDo) {
  Crew crew(2);
  std::atomic<int> left = 3;
  crew.when_idle([&] { return --left > 0; });
  crew.wake();
  const auto wait = [&] {
    while (left > 0) std::this_thread::yield();
  };
  wait();
  left = 3;
  crew.wake();
  crew.each(2, [&](std::size_t k) {
    if (k == 0) wait();
  });
  EXPECT_LE(left, 0);
}

TEST(Crew, RestsWhenItIsTold) {
  Crew crew(3);
  std::atomic<bool> is_told = false;
  std::atomic<int> late = 0;
  crew.when_idle([&] {
    if (is_told) ++late;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return true;
  });
  crew.wake();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  crew.rest();
  is_told = true;
  crew.wake();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace soapstone::core
