// See link_times.h.
#include "parallel/described/link_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::parallel {
namespace {

// Rates were measured with messages between these; beyond, they stay what they are at the end.
constexpr double kLeastBytes = 65536, kMostBytes = 1073741824;

/// Bytes a second of all pairs together; not positive where the fit is none.
double fitted_rate(const LinkFit& link, double bytes) {
  const double l = std::log2(std::clamp(bytes, kLeastBytes, kMostBytes) / 1e6);
  const double gb_per_s = (link.fit[0] * l + link.fit[1]) * l + link.fit[2];
  return std::min(gb_per_s * 1e9, link.most_bytes_per_s);
}

/// `rate_of`: bytes a second of one sender of so many bytes. Infinite where it has no positive
/// rate.
///
/// The time of a size is the least of all sizes from it on, on a grid of 16 sizes an octave, and
/// linear in between.
double least_time(double bytes, const std::function<double(double)>& rate_of) {
  constexpr int kOfAnOctave = 16, kSizes = 14 * kOfAnOctave;  // 2^16 to 2^30 bytes
  const auto size = [](int k) {
    return kLeastBytes * std::exp2(static_cast<double>(k) / kOfAnOctave);
  };
  const auto fitted = [&](double sent) {
    const double rate = rate_of(sent);
    return rate > 0 ? sent / rate : std::numeric_limits<double>::infinity();
  };
  if (bytes <= 0) return 0;
  if (bytes >= kMostBytes) return fitted(bytes);
  double next = fitted(kMostBytes);
  for (int k = kSizes - 1; k >= 0; --k) {
    const double here = std::min(next, fitted(size(k)));
    if (bytes >= size(k)) return here + (next - here) * (bytes - size(k)) / (size(k + 1) - size(k));
    next = here;
  }
  return std::min(next, fitted(bytes));
}

const std::vector<LinkFit>* links_of(const Profiles& profiles, const std::string& from,
                                     const std::string& to) {
  for (const Profiles::Ends& ends : {Profiles::Ends{from, to}, Profiles::Ends{to, from}})
    if (const auto found = profiles.between_nodes.find(ends); found != profiles.between_nodes.end())
      return &found->second;
  return nullptr;
}

core::Error no_link(const Profiles& profiles, const std::string& from, const std::string& to) {
  std::set<std::string> others;
  for (const auto& [ends, fits] : profiles.between_nodes) {
    if (ends.first == from) others.insert(ends.second);
    if (ends.second == from) others.insert(ends.first);
  }
  return core::unavailable(
      fmt::format("the profiles have no link between nodes of {} and {}", from, to),
      others.empty() ? "measure it"
                     : fmt::format("{} has links to nodes of {}", from, fmt::join(others, ", ")));
}

core::Error no_rate(const std::string& from, const std::string& to) {
  return core::invalid_input(
      fmt::format("the fit of the link between {} and {} has no positive rate", from, to),
      "mend the fit in the profiles");
}

}  // namespace

core::Result<double> between_nodes_s(const Profiles& profiles, const std::string& from,
                                     const std::string& to, std::int64_t pairs, double bytes) {
  const std::vector<LinkFit>* const links = links_of(profiles, from, to);
  if (!links) return no_link(profiles, from, to);
  const double seconds = least_time(bytes, [&](double sent) {
    double together = 0;
    for (const LinkFit& link : *links) {
      const double share = static_cast<double>(pairs) / static_cast<double>(link.pairs);
      together = std::max(together, fitted_rate(link, sent) * std::min(1.0, share));
    }
    return together / static_cast<double>(pairs);
  });
  if (!std::isfinite(seconds)) return no_rate(from, to);
  return seconds;
}

core::Result<double> gathered_in_node_s(const Profiles& profiles, const std::string& device,
                                        std::int64_t gpus, double bytes) {
  if (gpus <= 1) return 0.0;
  const auto& links = profiles.within_node;
  auto found = links.lower_bound({device, gpus});
  const auto is_of_device = [&](auto at) { return at != links.end() && at->first.first == device; };
  if (!is_of_device(found) && found != links.begin()) --found;
  if (!is_of_device(found))
    return core::unavailable(fmt::format("the profiles have no link within a node of {}", device),
                             "measure it");
  const LinkFit& link = found->second;
  const double part_s = least_time(bytes / static_cast<double>(gpus), [&](double sent) {
    return fitted_rate(link, sent) / static_cast<double>(link.pairs);
  });
  if (!std::isfinite(part_s)) return no_rate(device, device);
  return part_s * static_cast<double>(gpus - 1);
}

}  // namespace soapstone::parallel
