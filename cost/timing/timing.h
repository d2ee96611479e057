// The timing protocol: how often to repeat something, how many samples to take, what to make of
// them. It knows neither kernels nor clocks, so that tests can play both.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "cost/database/cost_database.h"

namespace soapstone::cost {

struct TimingOptions {
  double min_sample_us = 200;  ///< A sample repeats the launch until it lasts this long.
  int samples = 9;
  double max_total_us = 200'000;  ///< A launch's budget.
  /// Set: nothing more is timed. Must outlive what has these options; null: never.
  const core::StopToken* stop = nullptr;
  /// True: the time for all timing is over. None: there is as much as it takes.
  std::function<bool()> is_over = {};
  /// Called after each time that was put into a database.
  std::function<void()> kept = {};
  /// Called with the error where a launch that should be timed could not be.
  std::function<void(const core::Error&)> failed = {};

  bool must_stop() const { return (stop && stop->stop_requested()) || (is_over && is_over()); }
};

/// Runs something that many times and returns how long all of it took, in microseconds.
using TimedRuns = std::function<double(std::int64_t repetitions)>;
/// What such a run answers that failed: more than anybody waits for.
inline constexpr double kFailedUs = 1e15;

/// Times `run` once: warms up while it finds how many repetitions make a sample, then takes
/// samples, and more of them if they are too far apart. The cost is a low quantile: what else
/// happens on the machine can only make a run slower. What outlasts the whole budget in one run is
/// run once.
Measurement measure(const TimedRuns& run, const TimingOptions& options);

/// Times several in turn (A B, B A, A B, …), so that drift of the machine hits all alike; what is
/// short is repeated within its turn. Returns microseconds a run: per round, one for each.
/// Stops after `rounds` or when `max_total_us` is used up, with at least kFewestForInterval rounds;
/// at `stop` at once: then there is nothing.
std::vector<std::vector<double>> sample_in_turn(std::span<const TimedRuns> runs, int rounds,
                                                double max_total_us,
                                                const core::StopToken& stop = {});

}  // namespace soapstone::cost
