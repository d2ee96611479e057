// Where the members of a group are, and which share of each port is theirs.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/base/check.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {
namespace {

/// In a network there are no levels: the rate is that of the slowest neighbors if all send to the
/// next one at once.
Span span_of_rings(const Topology& topology, std::span<const std::vector<DeviceId>> groups) {
  std::vector<int> flows(topology.channel_count());
  const auto for_neighbors = [&](auto&& visit) {
    for (const std::vector<DeviceId>& group : groups)
      for (std::size_t k = 0; group.size() > 1 && k < group.size(); ++k)
        visit(topology.route(group[k], group[(k + 1) % group.size()]));
  };
  for_neighbors([&](const std::vector<ChannelId>& route) {
    for (const ChannelId channel : route) ++flows[channel.index()];
  });
  Span span;
  span.count = static_cast<std::int64_t>(groups.front().size());
  span.bytes_per_s = std::numeric_limits<double>::infinity();
  for_neighbors([&](const std::vector<ChannelId>& route) {
    double latency_us = 0;
    for (const ChannelId id : route) {
      const Path channel = topology.channel(id);
      latency_us += channel.latency_us;
      span.bytes_per_s = std::min(span.bytes_per_s, channel.bytes_per_s / flows[id.index()]);
    }
    span.latency_us = std::max(span.latency_us, latency_us);
  });
  span.lane_bytes_per_s = span.bytes_per_s;
  return span;
}

/// What one level joins if only these devices are at work; of uneven groups, what takes longest.
Span span_alone(const Topology& topology, std::size_t level, std::span<const DeviceId> devices) {
  const Level& joined = topology.levels()[level];
  const std::int64_t below = topology.group_size(level);
  struct Members {
    std::int64_t count = 0;
    std::set<std::int64_t> ports;
  };
  std::map<std::int64_t, Members> groups;
  for (const DeviceId device : devices) {
    Members& members = groups[static_cast<std::int64_t>(device.index()) / below];
    ++members.count;
    members.ports.insert(topology.port(level, device));
  }
  std::map<std::int64_t, std::int64_t> joined_groups;  // of each group of the level
  std::size_t least_ports = devices.size();
  Span span{1, 1, joined.latency_us, 0, joined.bytes_per_s};
  for (const auto& [group, members] : groups) {
    span.count = std::max(span.count, ++joined_groups[group / joined.size]);
    span.members = std::max(span.members, members.count);
    least_ports = std::min(least_ports, members.ports.size());
  }
  span.bytes_per_s = joined.bytes_per_s * static_cast<double>(least_ports);
  return span;
}

}  // namespace

std::int64_t GroupShape::size() const {
  std::int64_t size = 1;
  for (const Span& span : spans) size *= span.count;
  return size;
}

GroupShape shape_of_devices(const Topology& topology, std::span<const DeviceId> devices) {
  CHECK(!devices.empty(), "a group has a member");
  GroupShape shape{{}, topology.measured()};
  if (devices.size() == 1) return shape;
  if (topology.levels().empty()) {
    const std::vector<DeviceId> group(devices.begin(), devices.end());
    shape.spans.push_back(span_of_rings(topology, {&group, 1}));
    return shape;
  }
  for (std::size_t level = 0; level < topology.levels().size(); ++level) {
    const Span span = span_alone(topology, level, devices);
    if (span.count > 1) shape.spans.push_back(span);
  }
  return shape;
}

GroupShape shape_of_axis(const Topology& topology, std::int64_t stride, std::int64_t count) {
  const auto devices = static_cast<std::int64_t>(topology.device_count());
  CHECK(stride >= 1 && count >= 1 && devices % (stride * count) == 0, "axes cover all devices");
  GroupShape shape{{}, topology.measured()};
  if (count == 1) return shape;
  if (topology.levels().empty()) {
    std::vector<std::vector<DeviceId>> groups;
    for (std::int64_t device = 0; device < devices; ++device) {
      if (device / stride % count != 0) continue;
      auto& group = groups.emplace_back();
      for (std::int64_t k = 0; k < count; ++k)
        group.push_back(DeviceId(static_cast<std::size_t>(device + k * stride)));
    }
    shape.spans.push_back(span_of_rings(topology, groups));
    return shape;
  }
  std::int64_t members = 1, rest = count;
  for (std::size_t level = 0; level < topology.levels().size() && rest > 1; ++level) {
    const Level& joined = topology.levels()[level];
    const std::int64_t within = topology.group_size(level) * joined.size / (stride * members);
    const bool is_last = level + 1 == topology.levels().size();
    const std::int64_t here = is_last ? rest : std::clamp(within, std::int64_t{1}, rest);
    if (here > 1) {
      const double share =
          static_cast<double>(members) / static_cast<double>(joined.devices_per_port);
      shape.spans.push_back({here, members, joined.latency_us, joined.bytes_per_s * share,
                             joined.bytes_per_s * std::min(1.0, share)});
    }
    members *= here;
    rest = (rest + here - 1) / here;
  }
  return shape;
}

}  // namespace soapstone::parallel
