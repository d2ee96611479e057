// See measured_collectives.h.
#include "parallel/topology/measured_collectives.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace soapstone::parallel {
namespace {

using BytesAndTime = std::pair<double, double>;

const char* fault_of(const MeasuredCollective& measured) {
  if (measured.devices < 2) return "a collective operation takes two devices at least";
  if (measured.times.empty()) return "there are no times";
  double before = -1;
  for (const auto& [bytes, us] : measured.times) {
    if (!(std::isfinite(bytes) && bytes > before)) return "the sizes do not ascend";
    if (!(std::isfinite(us) && us > 0)) return "a time is not positive";
    before = bytes;
  }
  return nullptr;
}

}  // namespace

std::optional<double> measured_us(std::span<const MeasuredCollective> measured,
                                  Collective collective, std::int64_t devices, double bytes) {
  const auto found = std::ranges::find_if(measured, [&](const MeasuredCollective& one) {
    return one.collective == collective && one.devices == devices;
  });
  if (found == measured.end()) return std::nullopt;
  const auto& times = found->times;
  const auto above = std::ranges::lower_bound(times, bytes, {}, &BytesAndTime::first);
  if (above == times.begin()) return times.front().second;
  if (above == times.end()) return times.back().second * bytes / times.back().first;
  const BytesAndTime below = *std::prev(above);
  const double share = (bytes - below.first) / (above->first - below.first);
  return below.second + share * (above->second - below.second);
}

core::Status check_measured(std::span<const MeasuredCollective> measured) {
  for (std::size_t k = 0; k < measured.size(); ++k)
    if (const char* const fault = fault_of(measured[k]))
      return core::invalid_input(fault).at(fmt::format("collectives[{}]", k));
  return core::Done{};
}

}  // namespace soapstone::parallel
