// How long collective operations take: closed forms in latencies and rates, after R. Thakur,
// R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in MPICH"
// (2005), generalized to levels.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/topology/measured_collectives.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

enum class Algorithm : std::uint8_t {
  kRing,             ///< Neighbors pass pieces on; as many rings at once as a group has ports.
  kTree,             ///< Binomial; of an all-to-all: Bruck's, which sends halves.
  kHalvingDoubling,  ///< Partners at distances 1, 2, 4, …; powers of two only.
  kHierarchical,     ///< Rings within the levels, one level after the other.
  kDirect,           ///< Each device sends to each other one.
  kMeasured,         ///< Whichever ran when it was measured; it has no closed form.
};

/// The part of a group that one level joins.
struct Span {
  std::int64_t count = 1;    ///< Groups of the level below that have members.
  std::int64_t members = 1;  ///< In each of them.
  double latency_us = 0;
  double bytes_per_s = 0;       ///< Out of one of them, and into it, for all its members together.
  double lane_bytes_per_s = 0;  ///< The same if one member of each sends.
};

/// Where the members of a group are. Innermost level first.
struct GroupShape {
  std::vector<Span> spans;
  /// Times on the whole topology, of groups of any size. Null: none.
  std::shared_ptr<const std::vector<MeasuredCollective>> measured;
  std::int64_t size() const;
};

/// A group alone on the machine.
GroupShape shape_of_devices(const Topology& topology, std::span<const DeviceId> devices);
/// The groups {b, b + stride, …, b + (count − 1)·stride} that together are all devices, at work at
/// the same time: they share ports.
GroupShape shape_of_axis(const Topology& topology, std::int64_t stride, std::int64_t count);

/// None if the algorithm does not compute it on this group.
///
/// `bytes` is the tensor that each device has (all_reduce, reduce_scatter, all_to_all, broadcast,
/// send) or comes to have (all_gather).
std::optional<double> collective_us(Collective collective, Algorithm algorithm,
                                    const GroupShape& shape, double bytes);

struct CollectiveTime {
  double us = 0;
  Algorithm algorithm = Algorithm::kRing;
};
/// As it was measured, where the topology says so; else the fastest algorithm, the first of equally
/// fast ones.
CollectiveTime best_collective(Collective collective, const GroupShape& shape, double bytes);

std::string_view to_string(Collective collective);
std::string_view to_string(Algorithm algorithm);

}  // namespace soapstone::parallel
