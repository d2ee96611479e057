// Times of whole graphs, taken in turn.
#include <algorithm>
#include <array>

#include "cost/models/measured_cost.h"
#include "cost/timing/statistics.h"

namespace soapstone::cost {
namespace {

/// What takes longer fills the caches by itself.
constexpr double kWarmedUs = 30e3;

/// One run more comes before each sample, since the graph that ran before has put the weights of
/// this one out of the caches: deployed, a graph runs alone. For all of those that are compared, or
/// for none.
std::vector<TimedRuns> runs_of(std::span<runtime::Executable* const> executables) {
  const bool warms = std::ranges::any_of(executables, [](runtime::Executable* executable) {
    return std::min(executable->time_us(1), executable->time_us(1)) < kWarmedUs;
  });
  std::vector<TimedRuns> runs;
  for (runtime::Executable* const executable : executables)
    runs.push_back([executable, warms](std::int64_t repetitions) {
      if (warms) executable->time_us(1);
      return executable->time_us(repetitions);
    });
  return runs;
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
  const std::vector<TimedRuns> runs = runs_of(executables);
  const auto rows = sample_in_turn(runs, rounds, max_total_us, stop);
  if (rows.empty()) return std::vector<Timing>(runs.size());
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < runs.size(); ++i) timings.push_back(timing(rows, i));
  return timings;
}

Comparison compare_and_time(runtime::Executable& a, runtime::Executable& b, int rounds,
                            double max_total_us, const core::StopToken& stop) {
  const std::array both = {&a, &b};
  const std::vector<TimedRuns> runs = runs_of(both);
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
