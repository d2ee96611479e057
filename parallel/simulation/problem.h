// Operators that are cut into parts, the devices that may run the parts, and what all of it takes,
// as flat tables: all that a simulation or a search for placements has to know.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// Time as a whole number of 10 ps, so that sums do not depend on their order.
using Ticks = std::int64_t;
constexpr double kTicksPerUs = 1e5;
Ticks to_ticks(double us);
inline double to_us(Ticks ticks) { return static_cast<double>(ticks) / kTicksPerUs; }

/// A set of devices: bit d is device d.
using DeviceSet = std::uint64_t;
constexpr std::size_t kMostDevicesPlaced = 64;
/// A timeline can be told of more.
constexpr std::size_t kMostDevicesTold = 256;

/// One way to cut an operator.
struct Configuration {
  std::uint32_t parts = 1;
  std::uint32_t pieces = 1;       ///< Of its weight: parts of one piece hold the same values.
  std::uint32_t first_time = 0;   ///< In `part_times`: of a part, for each kind of device.
  std::uint32_t first_piece = 0;  ///< In `piece_of_part`.
  double resident_bytes = 0;      ///< Of a part, all the time.
  double output_bytes = 0;        ///< Of a part, until its last reader has ended.
};

struct PlacedOperator {
  std::string name;
  std::uint32_t first_configuration = 0, configurations = 0;
  std::uint32_t first_slot = 0, slots = 0;      ///< Part p is task first_slot + p.
  std::uint32_t first_input = 0, inputs = 0;    ///< In `input_edges`.
  std::uint32_t first_reader = 0, readers = 0;  ///< In `reader_edges`.
  std::uint32_t group = 0;                      ///< Of weights; kNoGroup: none.
};
constexpr std::uint32_t kNoGroup = ~0U;

/// Data from one operator to a later one. Each pair of configurations has a table of overlaps.
struct PlacedEdge {
  std::uint32_t from = 0, to = 0;
  std::uint32_t first_table = 0;  ///< In `tables`: by from's configuration, then by to's.
};

/// What a part of one operator has that a part of the other one reads.
struct Overlap {
  std::uint32_t part = 0;        ///< The other end.
  std::uint32_t first_time = 0;  ///< In `transfer_times`: for each class of paths.
};

/// `starts_from[p]` and the next are the bounds in `overlaps` of what part p is read by;
/// `starts_to[p]` of what part p reads.
struct OverlapTable {
  std::uint32_t starts_from = 0, starts_to = 0;  ///< In `overlap_starts`.
};

/// What synchronizing a weight costs, by how it lies: the most devices in a node, and nodes.
struct SyncTable {
  std::uint32_t pieces = 1;      ///< As many are synchronized, one after the other.
  std::uint32_t first_time = 0;  ///< In `sync_times`: by (most − 1)·nodes + (nodes used − 1).
};

/// Operators that share a weight.
struct WeightGroup {
  std::vector<std::uint32_t> members;
  std::vector<SyncTable> tables;  ///< By ascending pieces; each divides the next.
};

struct PlacementProblem {
  std::size_t device_count = 0, kind_count = 0, node_count = 0, largest_node = 0, slot_count = 0;
  std::vector<std::string> device_names;
  std::vector<std::uint8_t> kind_of;        ///< Of each device.
  std::vector<std::uint8_t> node_of;        ///< Of each device.
  std::vector<DeviceSet> nodes;             ///< The devices of each; none if they are more than 64.
  std::vector<double> memory_bytes;         ///< Of each device.
  std::vector<std::uint16_t> path_class;    ///< By from·devices + to; 0 on the same device.
  std::vector<Path> paths;                  ///< Of each class.
  std::vector<Path> channels;               ///< Of the topology, as far as routes use them.
  std::vector<std::uint32_t> route_starts;  ///< In `route_channels`, by from·devices + to.
  std::vector<std::uint32_t> route_channels;
  std::vector<PlacedOperator> operators;  ///< Each after those that it reads.
  std::vector<Configuration> configurations;
  std::vector<Ticks> part_times;
  std::vector<std::uint16_t> piece_of_part;
  std::vector<PlacedEdge> edges;
  std::vector<std::uint32_t> input_edges, reader_edges;
  std::vector<OverlapTable> tables;
  std::vector<std::uint32_t> overlap_starts;
  std::vector<Overlap> overlaps;
  std::vector<Ticks> transfer_times;
  std::vector<double> transfer_bytes;  ///< By first_time / number of classes.
  std::vector<WeightGroup> groups;
  std::vector<Ticks> sync_times;

  const Configuration& configuration(std::size_t op, std::size_t choice) const {
    return configurations[operators[op].first_configuration + choice];
  }
  const OverlapTable& table(const PlacedEdge& edge, std::size_t from, std::size_t to) const {
    return tables[edge.first_table + from * operators[edge.to].configurations + to];
  }
};

/// Which configuration each operator has, and on which device each of its parts is.
struct Placement {
  std::vector<std::uint16_t> choice;
  std::vector<std::uint8_t> device;  ///< By slot.
  bool operator==(const Placement&) const = default;
};

}  // namespace soapstone::parallel
