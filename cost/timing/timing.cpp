// Warm up, repeat, sample, judge.
#include "cost/timing/timing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cost/timing/statistics.h"

namespace soapstone::cost {
namespace {

constexpr double kCostQuantile = 0.2;
constexpr double kSuspiciousSpread = 0.2;  // of the cost
constexpr double kTurnUs = 1000;           // shorter turns would time the clock
constexpr int kFewestSamples = 3;
constexpr int kMostRounds = 3;  // of `samples` samples each

/// To the nanosecond, so that the database gives back the very same numbers.
Measurement summarize(const std::vector<double>& samples) {
  const double spread_us = quantile(samples, 0.75) - quantile(samples, 0.25);
  return {to_nanosecond(quantile(samples, kCostQuantile)), to_nanosecond(spread_us),
          static_cast<int>(samples.size()), std::string()};
}

/// Repetitions that make a turn long enough, from a run after a first one that warms up.
std::int64_t repetitions_per_turn(const TimedRuns& run, double& used_us) {
  used_us += run(1);
  const double once_us = run(1);
  used_us += once_us;
  return static_cast<std::int64_t>(std::clamp(std::ceil(kTurnUs / once_us), 1.0, kTurnUs));
}

}  // namespace

Measurement measure(const TimedRuns& run, const TimingOptions& options) {
  double sample_us = run(1);
  double used_us = sample_us;
  if (used_us > options.max_total_us) return summarize({sample_us});

  // The first runs are slow, so growth is bounded and the last estimate is a warm one.
  std::int64_t repetitions = 1;
  while (sample_us < options.min_sample_us && used_us < options.max_total_us) {
    const double wanted = std::ceil(1.2 * options.min_sample_us / std::max(sample_us, 1e-3));
    repetitions *= static_cast<std::int64_t>(std::clamp(wanted, 2.0, 10.0));
    sample_us = run(repetitions);
    used_us += sample_us;
  }

  std::vector<double> samples;
  for (int round = 0; round < kMostRounds; ++round) {
    for (int i = 0; i < options.samples; ++i) {
      if (used_us + sample_us > options.max_total_us && samples.size() >= kFewestSamples) break;
      sample_us = run(repetitions);
      used_us += sample_us;
      samples.push_back(sample_us / static_cast<double>(repetitions));
    }
    const Measurement so_far = summarize(samples);
    if (so_far.spread_us <= kSuspiciousSpread * so_far.cost_us) break;
  }
  return summarize(samples);
}

std::vector<std::vector<double>> sample_in_turn(std::span<const TimedRuns> runs, int rounds,
                                                double max_total_us, const core::StopToken& stop) {
  double used_us = 0;
  std::vector<std::int64_t> repetitions;
  for (const TimedRuns& run : runs) {
    if (stop.stop_requested()) return {};
    repetitions.push_back(repetitions_per_turn(run, used_us));
  }

  std::vector<std::vector<double>> samples;
  for (int round = 0; round < std::max(rounds, kFewestForInterval); ++round) {
    if (used_us > max_total_us && round >= kFewestForInterval) break;
    std::vector<double>& row = samples.emplace_back(runs.size());
    for (std::size_t turn = 0; turn < runs.size(); ++turn) {
      if (stop.stop_requested()) return {};
      const std::size_t i = round % 2 == 0 ? turn : runs.size() - 1 - turn;
      const double turn_us = runs[i](repetitions[i]);
      used_us += turn_us;
      row[i] = turn_us / static_cast<double>(repetitions[i]);
    }
  }
  return samples;
}

}  // namespace soapstone::cost
