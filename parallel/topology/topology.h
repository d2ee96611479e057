// Devices and what connects them: either levels of equal groups (racks of nodes of devices), or any
// network of devices, switches and wires. Routes are computed when they are asked for, so that
// 16,384 devices need no table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "parallel/topology/measured_collectives.h"
#include "runtime/device/device_kinds.h"

namespace soapstone::parallel {

using DeviceId = core::Id<struct DeviceTag>;
/// One direction of a wire or port; both directions, if these share its rate.
using ChannelId = core::Id<struct ChannelTag>;

using runtime::DeviceKind;

/// What one channel does, or a route from end to end.
struct Path {
  double latency_us = 0;
  double bytes_per_s = 0;  ///< Infinite from a device to itself.
  double us(double bytes) const { return latency_us + bytes / bytes_per_s * 1e6; }
};

/// `count` devices of one kind, in the order of their ids.
struct DeviceRun {
  std::size_t kind = 0;
  std::int64_t count = 0;
};

/// A level joins `size` groups of the level below it (single devices, on the innermost one). Data
/// between two groups leaves by a port of the one and enters by a port of the other.
struct Level {
  std::string name;
  std::int64_t size = 1;
  double latency_us = 0;   ///< From port to port.
  double bytes_per_s = 0;  ///< Of a port, in each direction if it is duplex.
  std::int64_t devices_per_port = 1;
  bool duplex = true;
};

struct Hierarchy {
  std::string name;
  std::vector<DeviceKind> kinds;
  std::vector<DeviceRun> devices;
  std::vector<Level> levels;  ///< Innermost first.
  std::vector<MeasuredCollective> measured = {};
};

/// A wire between two vertices: devices come first, in their order, then switches.
struct Wire {
  std::size_t from = 0, to = 0;
  double latency_us = 0, bytes_per_s = 0;
  bool duplex = true;
};

struct Network {
  std::string name;
  std::vector<DeviceKind> kinds;
  std::vector<std::string> devices;
  std::vector<std::size_t> kind_of;  ///< Of each device.
  std::vector<std::string> switches;
  std::vector<Wire> wires;
  std::vector<MeasuredCollective> measured = {};
};

class Topology {
 public:
  /// Errors: kInvalidInput where a figure is not positive, sizes do not ascend, a name is used
  /// twice or refers to nothing, sizes of levels disagree with the devices, or two devices have no
  /// route.
  static core::Result<Topology> make(Hierarchy hierarchy);
  static core::Result<Topology> make(Network network);

  const std::string& name() const { return name_; }
  std::span<const DeviceKind> kinds() const { return kinds_; }
  std::size_t device_count() const { return device_count_; }
  std::size_t kind_index(DeviceId device) const;
  const DeviceKind& kind_of(DeviceId device) const { return kinds_[kind_index(device)]; }
  /// In levels: the devices in order, by kind; empty in a network.
  std::span<const DeviceRun> device_runs() const { return runs_; }
  /// In levels: the positions from the outermost level to the innermost one, as in `3.7`.
  std::string device_name(DeviceId device) const;

  std::size_t channel_count() const;
  Path channel(ChannelId channel) const;
  /// The channels that data passes from one device to another, in order; none on the same device.
  /// In a network: those that take the least time for 1 MiB. Devices pass nothing on.
  std::vector<ChannelId> route(DeviceId from, DeviceId to) const;
  Path path(DeviceId from, DeviceId to) const;

  /// Innermost first; empty in a network.
  std::span<const Level> levels() const { return levels_; }
  /// Devices in one of the groups that `level` joins.
  std::int64_t group_size(std::size_t level) const { return group_sizes_[level]; }
  /// The port of `level` that a device uses, by number within the level.
  std::int64_t port(std::size_t level, DeviceId device) const;
  /// The network's parts; empty in levels.
  std::span<const std::string> switches() const { return network_.switches; }
  std::span<const Wire> wires() const { return network_.wires; }
  /// Null: no times of collective operations are known but by latencies and rates.
  const std::shared_ptr<const std::vector<MeasuredCollective>>& measured() const {
    return measured_;
  }

 private:
  struct Arc {
    std::uint32_t to, channel;
  };

  Topology() = default;
  core::Status take_kinds(std::vector<DeviceKind> kinds);
  core::Status take_measured(std::vector<MeasuredCollective> measured);
  void lay_channels();
  std::vector<ChannelId> network_route(std::size_t from, std::size_t to) const;
  std::optional<std::size_t> unreached_from(std::size_t device) const;

  std::string name_;
  std::vector<DeviceKind> kinds_;
  std::size_t device_count_ = 0;
  std::vector<DeviceRun> runs_;
  std::vector<Level> levels_;
  std::vector<std::int64_t> group_sizes_;
  std::vector<std::size_t> first_channel_;  ///< Of each level or wire, and the number of all.
  Network network_;                         ///< Without name and kinds.
  std::vector<std::vector<Arc>> arcs_;      ///< Of each vertex of the network.
  std::shared_ptr<const std::vector<MeasuredCollective>> measured_;
};

}  // namespace soapstone::parallel
