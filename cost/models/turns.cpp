// Times of whole graphs, taken in turn.
#include <array>

#include "cost/models/measured_cost.h"
#include "cost/timing/statistics.h"

namespace soapstone::cost {
namespace {

/// What takes longer fills the caches by itself.
constexpr double kWarmedUs = 30e3;

/// One run more comes before each sample, since the graph that ran before has put the weights of
/// this one out of the caches. Deployed, a graph runs alone.
TimedRuns runs_of(runtime::Executable& executable) {
  return [&executable, warms = true](std::int64_t repetitions) mutable {
    warms = warms && executable.time_us(1) < kWarmedUs;
    return executable.time_us(repetitions);
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
  std::vector<TimedRuns> runs;
  for (runtime::Executable* executable : executables) {
    runs.push_back(runs_of(*executable));
  }
  const auto rows = sample_in_turn(runs, rounds, max_total_us, stop);
  if (rows.empty()) return std::vector<Timing>(runs.size());
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < runs.size(); ++i) timings.push_back(timing(rows, i));
  return timings;
}

Comparison compare_and_time(runtime::Executable& a, runtime::Executable& b, int rounds,
                            double max_total_us, const core::StopToken& stop) {
  const std::array runs = {runs_of(a), runs_of(b)};
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
