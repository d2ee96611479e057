// See rank_clock.h.
#include "jobs/links/rank_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/clock.h"

namespace soapstone::jobs {
namespace {

constexpr double kShortestTryUs = 50;  ///< So that reading the clock does not count.
constexpr double kMostTries = 100, kFewestTries = 3;

/// Microseconds a call, of `calls` together.
core::Result<double> time_of(runtime::Collectives& ranks, const RankCall& call, int calls) {
  SOAPSTONE_RETURN_IF_ERROR(wait_for_all(ranks));
  const double begin = core::wall_s();
  for (int k = 0; k < calls; ++k) SOAPSTONE_RETURN_IF_ERROR(call());
  return (core::wall_s() - begin) * 1e6 / calls;
}

}  // namespace

core::Status join_values(runtime::Collectives& ranks, std::vector<double>& values,
                         runtime::Reduction reduction) {
  const runtime::DeviceAddress address(reinterpret_cast<std::uintptr_t>(values.data()));
  return ranks.all_reduce(
      {address, static_cast<std::int64_t>(values.size()), core::DataType::kFloat64}, address,
      reduction);
}

core::Status wait_for_all(runtime::Collectives& ranks) {
  std::vector<double> nothing{0};
  return join_values(ranks, nothing, runtime::Reduction::kMax);
}

core::Result<double> time_on_all(runtime::Collectives& ranks, const RankCall& call, double seconds,
                                 bool stops) {
  SOAPSTONE_RETURN_IF_ERROR(call());  // the first one is slower
  SOAPSTONE_ASSIGN_OR_RETURN(const double once_us, time_of(ranks, call, 1));
  std::vector<double> agreed{once_us, stops ? 1.0 : 0.0};
  SOAPSTONE_RETURN_IF_ERROR(join_values(ranks, agreed, runtime::Reduction::kMax));
  if (agreed[1] > 0)
    return core::Error{core::ErrorCode::kInterrupted, "interrupted: nothing was written", {}, {}};
  const double least_us = std::max(agreed[0], 0.01);
  const int calls = static_cast<int>(std::ceil(kShortestTryUs / least_us));
  const double tries = std::clamp(seconds * 1e6 / (calls * least_us), kFewestTries, kMostTries);
  std::vector<double> times;
  for (int k = 0; k < static_cast<int>(tries); ++k) {
    SOAPSTONE_ASSIGN_OR_RETURN(const double us, time_of(ranks, call, calls));
    times.push_back(us);
  }
  SOAPSTONE_RETURN_IF_ERROR(join_values(ranks, times, runtime::Reduction::kMax));
  std::ranges::sort(times);
  return times[times.size() / 4];
}

}  // namespace soapstone::jobs
