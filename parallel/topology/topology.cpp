// See topology.h. Levels need arithmetic only; routes in networks are in routes.cpp.
#include "parallel/topology/topology.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

/// Far above any machine, and low enough for 32-bit ids of channels.
constexpr std::int64_t kMostDevices = 1 << 24;

core::Error wrong_at(std::string place, std::string message) {
  core::Error error = core::invalid_input(std::move(message));
  error.where = std::move(place);
  return error;
}

core::Status check_positive(double value, const std::string& place) {
  if (std::isfinite(value) && value > 0) return core::Done{};
  return wrong_at(place, fmt::format("{} is not a positive number", value));
}

core::Status check_latency(double value, const std::string& place) {
  if (std::isfinite(value) && value >= 0) return core::Done{};
  return wrong_at(place, fmt::format("{} is not a time of 0 or more", value));
}

core::Status check_kind(const DeviceKind& kind, const std::string& place) {
  if (kind.name.empty()) return wrong_at(place + ".name", "a kind needs a name");
  SOAPSTONE_RETURN_IF_ERROR(check_positive(kind.memory_bytes, place + ".memory_bytes"));
  SOAPSTONE_RETURN_IF_ERROR(check_positive(kind.memory_bytes_per_s, place + ".memory_bytes_per_s"));
  if (kind.flops_per_s.empty())
    return wrong_at(place + ".flops_per_s", "a kind needs a rate for one data type at least");
  const std::string slowdown = place + ".slowdown_when_all_compute";
  SOAPSTONE_RETURN_IF_ERROR(check_positive(kind.contraction_slowdown, slowdown + ".contractions"));
  SOAPSTONE_RETURN_IF_ERROR(check_positive(kind.other_slowdown, slowdown + ".others"));
  for (const auto& [type, rate] : kind.flops_per_s)
    SOAPSTONE_RETURN_IF_ERROR(
        check_positive(rate, fmt::format("{}.flops_per_s.{}", place, core::to_string(type))));
  return core::Done{};
}

core::Status check_level(const Level& level, std::int64_t group_size, const std::string& place) {
  if (level.size < 1) return wrong_at(place + ".size", "a level joins one group at least");
  SOAPSTONE_RETURN_IF_ERROR(check_latency(level.latency_us, place + ".latency_us"));
  SOAPSTONE_RETURN_IF_ERROR(check_positive(level.bytes_per_s, place + ".bytes_per_s"));
  if (level.devices_per_port < 1 || group_size % level.devices_per_port != 0)
    return wrong_at(place + ".devices_per_port",
                    fmt::format("{} does not divide the {} devices of a group",
                                level.devices_per_port, group_size));
  return core::Done{};
}

core::Status check_names(const Network& network) {
  std::set<std::string_view> names;
  const auto check = [&](const std::vector<std::string>& list, const char* key) -> core::Status {
    for (std::size_t k = 0; k < list.size(); ++k) {
      const std::string place = fmt::format("{}[{}]", key, k);
      if (list[k].empty()) return wrong_at(place, "a name is empty");
      if (!names.insert(list[k]).second)
        return wrong_at(place, fmt::format("the name '{}' is used twice", list[k]));
    }
    return core::Done{};
  };
  SOAPSTONE_RETURN_IF_ERROR(check(network.devices, "devices"));
  return check(network.switches, "switches");
}

core::Status check_wires(const Network& network) {
  const std::size_t vertices = network.devices.size() + network.switches.size();
  for (std::size_t k = 0; k < network.wires.size(); ++k) {
    const Wire& wire = network.wires[k];
    const std::string place = fmt::format("links[{}]", k);
    if (wire.from >= vertices || wire.to >= vertices || wire.from == wire.to)
      return wrong_at(place + ".between", "a link joins two different devices or switches");
    SOAPSTONE_RETURN_IF_ERROR(check_latency(wire.latency_us, place + ".latency_us"));
    SOAPSTONE_RETURN_IF_ERROR(check_positive(wire.bytes_per_s, place + ".bytes_per_s"));
  }
  return core::Done{};
}

}  // namespace

core::Status Topology::take_kinds(std::vector<DeviceKind> kinds) {
  std::set<std::string_view> names;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const std::string place = fmt::format("kinds[{}]", k);
    SOAPSTONE_RETURN_IF_ERROR(check_kind(kinds[k], place));
    if (!names.insert(kinds[k].name).second)
      return wrong_at(place + ".name", fmt::format("the name '{}' is used twice", kinds[k].name));
  }
  kinds_ = std::move(kinds);
  return core::Done{};
}

core::Status Topology::take_measured(std::vector<MeasuredCollective> measured) {
  if (measured.empty()) return core::Done{};
  SOAPSTONE_RETURN_IF_ERROR(check_measured(measured));
  measured_ = std::make_shared<const std::vector<MeasuredCollective>>(std::move(measured));
  return core::Done{};
}

core::Result<Topology> Topology::make(Hierarchy hierarchy) {
  Topology topology;
  topology.name_ = std::move(hierarchy.name);
  SOAPSTONE_RETURN_IF_ERROR(topology.take_measured(std::move(hierarchy.measured)));
  SOAPSTONE_RETURN_IF_ERROR(topology.take_kinds(std::move(hierarchy.kinds)));
  std::int64_t devices = 0;
  for (std::size_t k = 0; k < hierarchy.devices.size(); ++k) {
    const DeviceRun& run = hierarchy.devices[k];
    const std::string place = fmt::format("devices[{}]", k);
    if (run.kind >= topology.kinds_.size())
      return wrong_at(place + ".kind", "there is no such kind");
    if (run.count < 1 || run.count > kMostDevices - devices)
      return wrong_at(place + ".count",
                      fmt::format("the number of devices is not from 1 to {}", kMostDevices));
    devices += run.count;
  }
  if (devices == 0) return wrong_at("devices", "a topology needs a device");
  std::int64_t group = 1;
  for (std::size_t k = 0; k < hierarchy.levels.size(); ++k) {
    const Level& level = hierarchy.levels[k];
    SOAPSTONE_RETURN_IF_ERROR(check_level(level, group, fmt::format("levels[{}]", k)));
    topology.group_sizes_.push_back(group);
    group = level.size > kMostDevices / group ? kMostDevices + 1 : group * level.size;
  }
  if (group != devices)
    return wrong_at("levels",
                    fmt::format("the levels join {} devices, and there are {}", group, devices));
  topology.device_count_ = static_cast<std::size_t>(devices);
  topology.runs_ = std::move(hierarchy.devices);
  topology.levels_ = std::move(hierarchy.levels);
  topology.lay_channels();
  return topology;
}

core::Result<Topology> Topology::make(Network network) {
  Topology topology;
  topology.name_ = std::move(network.name);
  SOAPSTONE_RETURN_IF_ERROR(topology.take_measured(std::move(network.measured)));
  SOAPSTONE_RETURN_IF_ERROR(topology.take_kinds(std::move(network.kinds)));
  topology.device_count_ = network.devices.size();
  if (network.devices.empty()) return wrong_at("devices", "a topology needs a device");
  CHECK(network.kind_of.size() == network.devices.size(), "each device has a kind");
  for (std::size_t k = 0; k < network.kind_of.size(); ++k)
    if (network.kind_of[k] >= topology.kinds_.size())
      return wrong_at(fmt::format("devices[{}].kind", k), "there is no such kind");
  SOAPSTONE_RETURN_IF_ERROR(check_names(network));
  SOAPSTONE_RETURN_IF_ERROR(check_wires(network));
  topology.network_ = std::move(network);
  topology.lay_channels();
  for (std::size_t k = 0; k < topology.device_count_; ++k)
    if (const auto lost = topology.unreached_from(k))
      return wrong_at("links",
                      fmt::format("no route leads from '{}' to '{}'", topology.network_.devices[k],
                                  topology.network_.devices[*lost]));
  return topology;
}

void Topology::lay_channels() {
  std::size_t channels = 0;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    first_channel_.push_back(channels);
    const auto per_port = static_cast<std::size_t>(levels_[k].devices_per_port);
    channels += device_count_ / per_port * (levels_[k].duplex ? 2 : 1);
  }
  arcs_.resize(network_.devices.size() + network_.switches.size());
  for (const Wire& wire : network_.wires) {
    first_channel_.push_back(channels);
    const auto there = static_cast<std::uint32_t>(channels);
    const std::uint32_t back = there + (wire.duplex ? 1 : 0);
    arcs_[wire.from].push_back({static_cast<std::uint32_t>(wire.to), there});
    arcs_[wire.to].push_back({static_cast<std::uint32_t>(wire.from), back});
    channels = back + 1;
  }
  first_channel_.push_back(channels);
}

std::size_t Topology::kind_index(DeviceId device) const {
  CHECK(device.index() < device_count_, "a device of this topology");
  if (!network_.devices.empty()) return network_.kind_of[device.index()];
  auto rest = static_cast<std::int64_t>(device.index());
  std::size_t run = 0;
  while (rest >= runs_[run].count) rest -= runs_[run++].count;
  return runs_[run].kind;
}

std::string Topology::device_name(DeviceId device) const {
  CHECK(device.index() < device_count_, "a device of this topology");
  if (!network_.devices.empty()) return network_.devices[device.index()];
  std::string name;
  for (std::size_t k = levels_.size(); k-- > 0;) {
    const auto position = static_cast<std::int64_t>(device.index()) / group_sizes_[k];
    name += fmt::format("{}{}", name.empty() ? "" : ".", position % levels_[k].size);
  }
  return name.empty() ? "0" : name;
}

std::size_t Topology::channel_count() const { return first_channel_.back(); }

std::int64_t Topology::port(std::size_t level, DeviceId device) const {
  return static_cast<std::int64_t>(device.index()) / levels_[level].devices_per_port;
}

Path Topology::channel(ChannelId channel) const {
  CHECK(channel.index() < channel_count(), "a channel of this topology");
  const auto above =
      std::upper_bound(first_channel_.begin(), first_channel_.end(), channel.index());
  const auto owner = static_cast<std::size_t>(above - first_channel_.begin()) - 1;
  if (!levels_.empty()) return {levels_[owner].latency_us / 2, levels_[owner].bytes_per_s};
  return {network_.wires[owner].latency_us, network_.wires[owner].bytes_per_s};
}

std::vector<ChannelId> Topology::route(DeviceId from, DeviceId to) const {
  CHECK(from.index() < device_count_ && to.index() < device_count_, "devices of this topology");
  if (from == to) return {};
  if (levels_.empty()) return network_route(from.index(), to.index());
  std::size_t level = 0;  // the lowest whose groups have both
  const auto group_above = [&](DeviceId device) {
    return static_cast<std::int64_t>(device.index()) / (group_sizes_[level] * levels_[level].size);
  };
  while (group_above(from) != group_above(to)) ++level;
  const std::size_t directions = levels_[level].duplex ? 2 : 1;
  const auto channel = [&](DeviceId device, std::size_t direction) {
    const auto first =
        first_channel_[level] + static_cast<std::size_t>(port(level, device)) * directions;
    return ChannelId(first + (directions == 2 ? direction : 0));
  };
  return {channel(from, 0), channel(to, 1)};
}

Path Topology::path(DeviceId from, DeviceId to) const {
  Path whole{0, std::numeric_limits<double>::infinity()};
  for (const ChannelId id : route(from, to)) {
    const Path step = channel(id);
    whole.latency_us += step.latency_us;
    whole.bytes_per_s = std::min(whole.bytes_per_s, step.bytes_per_s);
  }
  return whole;
}

}  // namespace soapstone::parallel
