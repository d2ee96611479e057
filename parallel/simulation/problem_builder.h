// Makes the tables of a PlacementProblem from what its parts are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "parallel/simulation/problem.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// Simulator compares a ready time and a task as one number of 64 bits: 48 and 16.
inline constexpr Ticks kLongestCompared = Ticks{1} << 47;
/// simulate() adds times up, and that is all.
inline constexpr Ticks kLongestTold = Ticks{1} << 61;

struct ConfigurationSpec {
  std::uint32_t parts = 1;
  std::vector<double> part_us;               ///< For each kind of the topology.
  std::vector<std::uint16_t> piece_of_part;  ///< Empty: all parts hold the whole weight.
  double resident_bytes = 0, output_bytes = 0;
};

struct OverlapSpec {
  std::uint32_t from_part = 0, to_part = 0;
  double bytes = 0;
};
/// What parts of one operator give to parts of another, for a choice of configuration of each.
using OverlapsOf = std::function<std::vector<OverlapSpec>(std::size_t from, std::size_t to)>;

/// How an operator is cut into equal parts: of its samples, and of the outputs for each sample.
/// Part s·outputs + o has the sth share of the samples and the oth of the outputs.
struct SampleGrid {
  std::uint32_t samples = 1, outputs = 1;
};
/// A reader that is cut along samples, or along outputs of which each needs all inputs. `bytes` is
/// the whole tensor.
std::vector<OverlapSpec> sample_overlaps(SampleGrid from, SampleGrid to, double bytes);

/// Microseconds to synchronize so many bytes, of which all the devices have a copy: at most `most`
/// devices in each of `nodes` nodes.
using SyncCost = std::function<double(double bytes, std::size_t most, std::size_t nodes)>;
/// All-reduce on the topology's innermost and outer levels.
SyncCost all_reduce_cost(const Topology& topology);

class ProblemBuilder {
 public:
  /// `devices_per_node`: neighbors that weights are synchronized among first; it divides the
  /// number of devices. Errors: kUnsupported for more than `most_devices`, which are at most
  /// kMostDevicesTold; a Simulator can take kMostDevicesPlaced.
  static core::Result<ProblemBuilder> make(const Topology& topology, std::size_t devices_per_node,
                                           std::size_t most_devices = kMostDevicesPlaced);

  /// Returns its number.
  std::uint32_t add_operator(std::string name, const std::vector<ConfigurationSpec>& choices);
  /// `from` before `to`. Each part of `from` must have a reader, and each part of `to` a source.
  void add_edge(std::uint32_t from, std::uint32_t to, const OverlapsOf& overlaps);
  /// The weight of `bytes` that these share; they are in no other group.
  void add_group(const std::vector<std::uint32_t>& members, double bytes, const SyncCost& cost);
  /// Errors: kUnsupported if there are too many parts, or times that add up to more than `longest`.
  core::Result<PlacementProblem> finish(Ticks longest = kLongestCompared);

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  ProblemBuilder() = default;
  void add_paths(const Topology& topology);
  std::uint32_t table_of(const std::vector<OverlapSpec>& overlaps, Pair parts);
  std::uint32_t transfer_row(double bytes);
  void link_edges();
  double longest_step() const;
  double longest_transfer(const PlacedEdge& edge) const;

  PlacementProblem problem_;
  std::map<double, std::uint32_t> transfer_rows_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> known_tables_;
};

}  // namespace soapstone::parallel
