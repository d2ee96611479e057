// The intervals hold what they promise, and the timing protocol spends what it may.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "cost/timing/statistics.h"
#include "cost/timing/timing.h"

namespace soapstone::cost {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Quantile, IsAMeasuredSample) {
  EXPECT_EQ(quantile({3}, 0.2), 3);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0.2), 1);
  EXPECT_EQ(quantile({9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.2), 2);
  EXPECT_EQ(quantile({2, 1}, 1.0), 2);
}

TEST(MedianInterval, RanksAreThoseOfTheSignTest) {
  // From the tables of the binomial distribution: n, rank of the lower end.
  for (const auto& [n, rank] : {std::pair{6, 1}, {8, 1}, {9, 2}, {12, 3}, {20, 6}, {50, 18}}) {
    const MedianInterval interval = median_interval(one_to(n));
    EXPECT_EQ(interval.low, rank) << n << " samples";
    EXPECT_EQ(interval.high, n + 1 - rank) << n << " samples";
    EXPECT_EQ(interval.median, (n + 1) / 2.0);
  }
}

TEST(MedianInterval, FewSamplesGiveTheirRange) {
  const MedianInterval interval = median_interval({3, 1, 2});
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.median, 2);
  EXPECT_EQ(interval.high, 3);
}

TEST(MedianInterval, CoversTheMedianOfASkewedDistribution) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> skewed(1);
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(15);
    std::generate(samples.begin(), samples.end(), [&] { return skewed(random); });
    const MedianInterval interval = median_interval(samples);
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  EXPECT_GT(covered, kTrials * 94 / 100);
}

TEST(MedianInterval, HoldsForManySamples) {
  const MedianInterval interval = median_interval(one_to(10'000));
  EXPECT_NEAR(interval.low, 5000 - 98, 2);
  EXPECT_NEAR(interval.high, 5000 + 98, 2);
}

/// Plays a clock: every run takes `us`, and the calls are kept.
struct FakeRun {
  double us = 1;
  std::vector<std::int64_t> calls = {};
  TimedRuns runs() {
    return [this](std::int64_t repetitions) {
      calls.push_back(repetitions);
      return us * static_cast<double>(repetitions);
    };
  }
};

TEST(Measure, RepeatsUntilASampleIsLongEnough) {
  FakeRun run{.us = 2};
  const Measurement measured = measure(run.runs(), {.min_sample_us = 200, .samples = 9});
  EXPECT_EQ(measured.cost_us, 2);
  EXPECT_EQ(measured.spread_us, 0);
  EXPECT_EQ(measured.samples, 9);
  EXPECT_GE(run.calls.back() * 2, 200);
  EXPECT_LE(run.calls.back() * 2, 2000);
}

TEST(Measure, KeepsToItsBudget) {
  FakeRun slow{.us = 30'000};
  EXPECT_EQ(measure(slow.runs(), {.max_total_us = 200'000}).samples, 5);
  FakeRun endless{.us = 1e6};
  const Measurement measured = measure(endless.runs(), {.max_total_us = 200'000});
  EXPECT_EQ(measured.samples, 1);
  EXPECT_EQ(measured.cost_us, 1e6);
  EXPECT_EQ(endless.calls.size(), 1u);
}

TEST(Measure, TakesMoreSamplesWhenTheyAreFarApart) {
  int call = 0;
  const TimedRuns noisy = [&](std::int64_t repetitions) {
    return (++call % 2 ? 300.0 : 600.0) * static_cast<double>(repetitions);
  };
  const Measurement measured = measure(noisy, {.min_sample_us = 200, .samples = 9});
  EXPECT_EQ(measured.samples, 27);
  EXPECT_EQ(measured.cost_us, 300);
  EXPECT_EQ(measured.spread_us, 300);
}

TEST(Measure, IgnoresAFewSlowSamples) {
  int call = 0;
  const TimedRuns disturbed = [&](std::int64_t repetitions) {
    return (++call % 5 == 0 ? 9000.0 : 300.0) * static_cast<double>(repetitions);
  };
  const Measurement measured = measure(disturbed, {});
  EXPECT_EQ(measured.cost_us, 300);
  EXPECT_EQ(measured.spread_us, 0);
}

TEST(SampleInTurn, AlternatesAndReversesTheOrder) {
  std::string order;
  const std::vector<TimedRuns> runs = {
      [&](std::int64_t) {
        order += 'a';
        return 2000.0;
      },
      [&](std::int64_t) {
        order += 'b';
        return 1000.0;
      },
  };
  const auto rows = sample_in_turn(runs, 7, 1e9);
  EXPECT_EQ(order, "aabb"
                   "ab"
                   "ba"
                   "ab"
                   "ba"
                   "ab"
                   "ba"
                   "ab");
  ASSERT_EQ(rows.size(), 7u);
  for (const auto& row : rows) EXPECT_EQ(row, (std::vector<double>{2000, 1000}));
}

TEST(SampleInTurn, StopsAtItsBudgetButNotBelowTheFewestRounds) {
  FakeRun run{.us = 1e6};
  const std::vector<TimedRuns> runs = {run.runs()};
  EXPECT_EQ(sample_in_turn(runs, 50, 1).size(), static_cast<std::size_t>(kFewestForInterval));
  EXPECT_EQ(sample_in_turn(runs, 50, 10e6).size(), 9u);
  EXPECT_EQ(sample_in_turn(runs, 1, 1e9).size(), static_cast<std::size_t>(kFewestForInterval));
}

TEST(SampleInTurn, GivesNothingOnceItIsStopped) {
  core::StopToken stop;
  int runs_left = 20;
  const std::vector<TimedRuns> runs = {[&](std::int64_t) {
    if (--runs_left == 0) stop.request_stop();
    return 2000.0;
  }};
  EXPECT_TRUE(sample_in_turn(runs, 50, 1e9, stop).empty());
  EXPECT_EQ(runs_left, 0) << "it goes on no longer than the run that it is in";
}

TEST(SampleInTurn, RepeatsWhatIsShort) {
  FakeRun run{.us = 10};
  const std::vector<TimedRuns> runs = {run.runs()};
  const auto rows = sample_in_turn(runs, 6, 1e9);
  EXPECT_EQ(run.calls.back(), 100);
  EXPECT_EQ(rows.front().front(), 10);
}

}  // namespace
}  // namespace soapstone::cost
