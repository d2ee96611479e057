// Times of whole graphs, taken in turn.
#include <algorithm>
#include <array>

#include "cost/models/measured_cost.h"
#include "cost/timing/statistics.h"

namespace soapstone::cost {
namespace {

/// What takes longer fills the caches by itself.
constexpr double kWarmedUs = 30e3;

/// Executables in turn. One run more comes before each sample, since the graph that ran before has
/// put the weights of this one out of the caches: deployed, a graph runs alone. For all of those
/// that are compared, or for none.
class Turns {
 public:
  explicit Turns(std::span<runtime::Executable* const> executables)
      : executables_(executables.begin(), executables.end()) {
    warms_ = std::ranges::any_of(executables_, [&](runtime::Executable* executable) {
      return std::min(time_us(*executable, 1), time_us(*executable, 1)) < kWarmedUs;
    });
  }

  /// Rows as sample_in_turn() has them.
  core::Result<std::vector<std::vector<double>>> sample(int rounds, double max_total_us,
                                                        const core::StopToken& stop) {
    std::vector<TimedRuns> runs;
    for (runtime::Executable* const executable : executables_)
      runs.push_back([this, executable](std::int64_t repetitions) {
        if (warms_) time_us(*executable, 1);
        return time_us(*executable, repetitions);
      });
    auto rows = sample_in_turn(runs, rounds, max_total_us, stop);
    SOAPSTONE_RETURN_IF_ERROR(result_);
    return rows;
  }

 private:
  double time_us(runtime::Executable& executable, std::int64_t repetitions) {
    const core::Result<double> us =
        result_ ? executable.time_us(repetitions) : core::Result<double>(result_.error());
    if (us) return *us;
    result_ = us.error();
    return kFailedUs;
  }

  std::vector<runtime::Executable*> executables_;
  bool warms_ = false;
  core::Status result_ = core::Done{};
};

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

core::Result<std::vector<Timing>> time_in_turn(std::span<runtime::Executable* const> executables,
                                               int rounds, double max_total_us,
                                               const core::StopToken& stop) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto rows,
                             Turns(executables).sample(rounds, max_total_us, stop));
  if (rows.empty()) return std::vector<Timing>(executables.size());
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < executables.size(); ++i) timings.push_back(timing(rows, i));
  return timings;
}

core::Result<Comparison> compare_and_time(runtime::Executable& a, runtime::Executable& b,
                                          int rounds, double max_total_us,
                                          const core::StopToken& stop) {
  const std::array both = {&a, &b};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto rows, Turns(both).sample(rounds, max_total_us, stop));
  if (rows.empty()) return Comparison{};
  std::vector<double> ratios;
  for (const auto& row : rows) ratios.push_back(row[0] / row[1]);
  const MedianInterval ratio = median_interval(std::move(ratios));
  return Comparison{timing(rows, 0), timing(rows, 1), {ratio.median, ratio.low, ratio.high}};
}

core::Result<RatioInterval> compare_in_turn(runtime::Executable& a, runtime::Executable& b,
                                            int rounds, double max_total_us,
                                            const core::StopToken& stop) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Comparison comparison,
                             compare_and_time(a, b, rounds, max_total_us, stop));
  return comparison.ratio;
}

}  // namespace soapstone::cost
