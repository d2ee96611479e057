// Times of whole graphs, taken in turn.
#include <array>

#include "cost/models/measured_cost.h"
#include "cost/timing/run_clock.h"
#include "cost/timing/statistics.h"

namespace soapstone::cost {
namespace {

Stopwatch stopwatch(runtime::Executable& executable, const RunClock& clock) {
  return [&](std::int64_t repetitions) {
    return clock.time_us([&] {
      for (std::int64_t i = 0; i < repetitions; ++i) {
        // What a run computes is not looked at: whether it may be run was found when it was.
        [[maybe_unused]] const core::Status done = executable.run_again();
      }
    });
  };
}

std::vector<double> column(const std::vector<std::vector<double>>& rows, std::size_t i) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(row[i]);
  return values;
}

Timing timing(const std::vector<std::vector<double>>& rows, std::size_t i) {
  const MedianInterval interval = median_interval(column(rows, i));
  return {interval.median, interval.low, interval.high, static_cast<int>(rows.size())};
}

}  // namespace

std::vector<Timing> time_in_turn(std::span<runtime::Executable* const> executables, int rounds,
                                 double max_total_us, const core::StopToken& stop) {
  const RunClock clock;
  std::vector<Stopwatch> runs;
  for (runtime::Executable* executable : executables) {
    runs.push_back(stopwatch(*executable, clock));
  }
  const auto rows = sample_in_turn(runs, rounds, max_total_us, stop);
  if (rows.empty()) return std::vector<Timing>(runs.size());
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < runs.size(); ++i) timings.push_back(timing(rows, i));
  return timings;
}

Comparison compare_and_time(runtime::Executable& a, runtime::Executable& b, int rounds,
                            double max_total_us, const core::StopToken& stop) {
  const RunClock clock;
  const std::array runs = {stopwatch(a, clock), stopwatch(b, clock)};
  const auto rows = sample_in_turn(runs, rounds, max_total_us, stop);
  if (rows.empty()) return {};
  std::vector<double> ratios;
  for (const auto& row : rows) ratios.push_back(row[0] / row[1]);
  const MedianInterval ratio = median_interval(std::move(ratios));
  return {timing(rows, 0), timing(rows, 1), {ratio.median, ratio.low, ratio.high}};
}

RatioInterval compare_in_turn(runtime::Executable& a, runtime::Executable& b, int rounds,
                              double max_total_us, const core::StopToken& stop) {
  return compare_and_time(a, b, rounds, max_total_us, stop).ratio;
}

}  // namespace soapstone::cost
