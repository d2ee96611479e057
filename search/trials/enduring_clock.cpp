// See enduring_clock.h.
#include "search/trials/enduring_clock.h"

#include <fmt/format.h>

namespace soapstone::search {
namespace {

constexpr int kMostFailures = 3;

}  // namespace

template <class Compare>
core::Result<cost::Comparison> EnduringClock::endure(const Compare& compare,
                                                     const core::StopToken& stop) {
  if (given_up_) return *given_up_;
  const auto has_failed = [](const core::Result<cost::Comparison>& result) {
    return !result && result.error().code == core::ErrorCode::kUnavailable;
  };
  core::Result<cost::Comparison> compared = compare();
  if (has_failed(compared) && !stop.stop_requested()) compared = compare();
  if (!has_failed(compared)) {
    failures_ = 0;
    return compared;
  }
  const core::Error& error = compared.error();
  if (++failures_ < kMostFailures) return core::unsupported(error.message);
  given_up_ =
      core::unavailable(fmt::format("{} failed at {} comparisons in a row and was given up: {}",
                                    clock_.runtime(), kMostFailures, error.message));
  return *given_up_;
}

core::Result<cost::Comparison> EnduringClock::compare(const core::Graph& a, const core::Graph& b,
                                                      double budget_s,
                                                      const core::StopToken& stop) {
  return endure([&] { return clock_.compare(a, b, budget_s, stop); }, stop);
}

core::Result<cost::Comparison> EnduringClock::compare_file(const core::Graph& original,
                                                           const core::Graph& b, double budget_s,
                                                           const core::StopToken& stop) {
  return endure([&] { return clock_.compare_file(original, b, budget_s, stop); }, stop);
}

}  // namespace soapstone::search
