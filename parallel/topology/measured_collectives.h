// Times of collective operations that somebody measured on the devices of a topology.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace soapstone::parallel {

enum class Collective : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kSend,
};

/// While all groups of so many devices that the topology has are at work.
struct MeasuredCollective {
  Collective collective = Collective::kAllReduce;
  std::int64_t devices = 2;
  /// Bytes, as collective_us() counts them, ascending, and microseconds.
  std::vector<std::pair<double, double>> times;
};

/// Between sizes that were measured, on a line; below the least its time, above the largest at its
/// rate. None: there is no such operation on so many devices.
std::optional<double> measured_us(std::span<const MeasuredCollective> measured,
                                  Collective collective, std::int64_t devices, double bytes);

/// Errors: kInvalidInput: no sizes, or they do not ascend; times that are not positive; fewer than
/// two devices. `where` names the entry, as in `collectives[2]`.
core::Status check_measured(std::span<const MeasuredCollective> measured);

}  // namespace soapstone::parallel
