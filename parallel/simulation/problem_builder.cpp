// See problem_builder.h. Equal tables of overlaps and equal amounts of bytes are stored once.
#include "parallel/simulation/problem_builder.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/check.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {
namespace {

constexpr std::size_t kMostSlots = std::size_t{1} << 16;

std::uint32_t narrow(std::size_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

Ticks to_ticks(double us) {
  return std::llround(std::min(us * kTicksPerUs, static_cast<double>(kLongestTold)));
}

std::vector<OverlapSpec> sample_overlaps(SampleGrid from, SampleGrid to, double bytes) {
  std::vector<OverlapSpec> overlaps;
  const double piece = bytes / from.outputs / std::max(from.samples, to.samples);
  CHECK(std::max(from.samples, to.samples) % std::min(from.samples, to.samples) == 0, "cuts nest");
  for (std::uint32_t a = 0; a < from.samples; ++a)
    for (std::uint32_t b = 0; b < to.samples; ++b) {
      const bool is_shared =
          a * to.samples < (b + 1) * from.samples && b * from.samples < (a + 1) * to.samples;
      for (std::uint32_t k = 0; is_shared && k < from.outputs * to.outputs; ++k)
        overlaps.push_back(
            {a * from.outputs + k % from.outputs, b * to.outputs + k / from.outputs, piece});
    }
  return overlaps;
}

SyncCost all_reduce_cost(const Topology& topology) {
  return [&topology](double bytes, std::size_t most, std::size_t nodes) {
    std::vector<DeviceId> devices;
    const std::size_t per_node = topology.levels().empty()
                                     ? topology.device_count()
                                     : static_cast<std::size_t>(topology.levels()[0].size);
    for (std::size_t node = 0; node < nodes; ++node)
      for (std::size_t k = 0; k < most; ++k) devices.emplace_back(node * per_node + k);
    return best_collective(Collective::kAllReduce, shape_of_devices(topology, devices), bytes).us;
  };
}

core::Result<ProblemBuilder> ProblemBuilder::make(const Topology& topology,
                                                  std::size_t devices_per_node,
                                                  std::size_t most_devices) {
  CHECK(most_devices <= kMostDevicesTold, "devices have numbers of eight bits");
  const std::size_t devices = topology.device_count();
  if (devices > most_devices)
    return core::unsupported(fmt::format("placements are for up to {} devices, '{}' has {}",
                                         most_devices, topology.name(), devices));
  CHECK(devices_per_node > 0 && devices % devices_per_node == 0, "nodes are equal");
  ProblemBuilder builder;
  PlacementProblem& problem = builder.problem_;
  problem.device_count = devices;
  problem.kind_count = topology.kinds().size();
  problem.node_count = devices / devices_per_node;
  problem.largest_node = devices_per_node;
  if (devices <= kMostDevicesPlaced) problem.nodes.resize(problem.node_count);
  for (std::size_t d = 0; d < devices; ++d) {
    problem.device_names.push_back(topology.device_name(DeviceId(d)));
    problem.kind_of.push_back(static_cast<std::uint8_t>(topology.kind_index(DeviceId(d))));
    problem.memory_bytes.push_back(topology.kind_of(DeviceId(d)).memory_bytes);
    problem.node_of.push_back(static_cast<std::uint8_t>(d / devices_per_node));
    if (!problem.nodes.empty()) problem.nodes[d / devices_per_node] |= DeviceSet{1} << d;
  }
  builder.add_paths(topology);
  return builder;
}

void ProblemBuilder::add_paths(const Topology& topology) {
  std::map<std::pair<double, double>, std::uint16_t> classes;
  const std::size_t devices = problem_.device_count;
  problem_.paths.push_back(topology.path(DeviceId(std::size_t{0}), DeviceId(std::size_t{0})));
  problem_.path_class.resize(devices * devices);
  std::map<ChannelId, std::uint32_t> channels;
  for (std::size_t from = 0; from < devices; ++from)
    for (std::size_t to = 0; to < devices; ++to) {
      problem_.route_starts.push_back(narrow(problem_.route_channels.size()));
      for (const ChannelId id : topology.route(DeviceId(from), DeviceId(to))) {
        const auto [known, is_new] = channels.emplace(id, narrow(problem_.channels.size()));
        if (is_new) problem_.channels.push_back(topology.channel(id));
        problem_.route_channels.push_back(known->second);
      }
      if (from == to) continue;
      const Path path = topology.path(DeviceId(from), DeviceId(to));
      const auto next = static_cast<std::uint16_t>(problem_.paths.size());
      const auto [entry, is_new] =
          classes.emplace(std::pair(path.latency_us, path.bytes_per_s), next);
      if (is_new) problem_.paths.push_back(path);
      problem_.path_class[from * devices + to] = entry->second;
    }
  problem_.route_starts.push_back(narrow(problem_.route_channels.size()));
}

std::uint32_t ProblemBuilder::add_operator(std::string name,
                                           const std::vector<ConfigurationSpec>& choices) {
  CHECK(!choices.empty(), "an operator has a configuration");
  PlacedOperator added;
  added.name = std::move(name);
  added.first_configuration = narrow(problem_.configurations.size());
  added.configurations = narrow(choices.size());
  added.first_slot = narrow(problem_.slot_count);
  added.group = kNoGroup;
  for (const ConfigurationSpec& choice : choices) {
    CHECK(choice.parts > 0 && choice.part_us.size() == problem_.kind_count, "parts have a time");
    Configuration configuration;
    configuration.parts = choice.parts;
    configuration.first_time = narrow(problem_.part_times.size());
    for (const double us : choice.part_us) problem_.part_times.push_back(to_ticks(us));
    configuration.first_piece = narrow(problem_.piece_of_part.size());
    std::vector<std::uint16_t> pieces = choice.piece_of_part;
    pieces.resize(choice.parts);
    configuration.pieces = 1U + *std::max_element(pieces.begin(), pieces.end());
    problem_.piece_of_part.insert(problem_.piece_of_part.end(), pieces.begin(), pieces.end());
    configuration.resident_bytes = choice.resident_bytes;
    configuration.output_bytes = choice.output_bytes;
    problem_.configurations.push_back(configuration);
    added.slots = std::max(added.slots, choice.parts);
  }
  problem_.slot_count += added.slots;
  problem_.operators.push_back(std::move(added));
  return narrow(problem_.operators.size() - 1);
}

std::uint32_t ProblemBuilder::transfer_row(double bytes) {
  const auto [row, is_new] = transfer_rows_.emplace(bytes, narrow(problem_.transfer_times.size()));
  if (!is_new) return row->second;
  problem_.transfer_bytes.push_back(bytes);
  for (const Path& path : problem_.paths)
    problem_.transfer_times.push_back(to_ticks(path.us(bytes)));
  return row->second;
}

/// By the parts of the source and by those of the reader.
std::uint32_t ProblemBuilder::table_of(const std::vector<OverlapSpec>& overlaps, Pair parts) {
  std::vector<std::vector<Overlap>> by_from(parts.first), by_to(parts.second);
  std::vector<std::uint32_t> key = {parts.first, parts.second};
  for (const OverlapSpec& overlap : overlaps) {
    CHECK(overlap.from_part < parts.first && overlap.to_part < parts.second, "parts there are");
    const std::uint32_t row = transfer_row(overlap.bytes);
    by_from[overlap.from_part].push_back({overlap.to_part, row});
    by_to[overlap.to_part].push_back({overlap.from_part, row});
    key.insert(key.end(), {overlap.from_part, overlap.to_part, row});
  }
  const auto [known, is_new] =
      known_tables_.emplace(std::move(key), narrow(problem_.tables.size()));
  // Configurations refer to tables by position, so an equal one is a copy of two numbers.
  if (!is_new) {
    problem_.tables.emplace_back(problem_.tables[known->second]);
    return narrow(problem_.tables.size() - 1);
  }
  OverlapTable table;
  for (auto* const lists : {&by_from, &by_to}) {
    (lists == &by_from ? table.starts_from : table.starts_to) =
        narrow(problem_.overlap_starts.size());
    for (const std::vector<Overlap>& list : *lists) {
      CHECK(!list.empty(), "each part has a source and a reader");
      problem_.overlap_starts.push_back(narrow(problem_.overlaps.size()));
      problem_.overlaps.insert(problem_.overlaps.end(), list.begin(), list.end());
    }
    problem_.overlap_starts.push_back(narrow(problem_.overlaps.size()));
  }
  problem_.tables.push_back(table);
  return narrow(problem_.tables.size() - 1);
}

void ProblemBuilder::add_edge(std::uint32_t from, std::uint32_t to, const OverlapsOf& overlaps) {
  CHECK(from < to && to < problem_.operators.size(), "an edge goes to a later operator");
  const PlacedOperator& source = problem_.operators[from];
  const PlacedOperator& reader = problem_.operators[to];
  problem_.edges.push_back({from, to, narrow(problem_.tables.size())});
  for (std::size_t a = 0; a < source.configurations; ++a)
    for (std::size_t b = 0; b < reader.configurations; ++b)
      table_of(overlaps(a, b),
               {problem_.configuration(from, a).parts, problem_.configuration(to, b).parts});
}

void ProblemBuilder::add_group(const std::vector<std::uint32_t>& members, double bytes,
                               const SyncCost& cost) {
  WeightGroup group;
  group.members = members;
  std::vector<std::uint32_t> pieces;
  for (const std::uint32_t member : members) {
    PlacedOperator& op = problem_.operators[member];
    CHECK(op.group == kNoGroup, "an operator has one weight");
    op.group = narrow(problem_.groups.size());
    for (std::size_t k = 0; k < op.configurations; ++k)
      pieces.push_back(problem_.configuration(member, k).pieces);
  }
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  for (const std::uint32_t count : pieces) {
    CHECK(count % (group.tables.empty() ? 1 : group.tables.back().pieces) == 0, "pieces nest");
    group.tables.push_back({count, narrow(problem_.sync_times.size())});
    for (std::size_t most = 1; most <= problem_.largest_node; ++most)
      for (std::size_t nodes = 1; nodes <= problem_.node_count; ++nodes)
        problem_.sync_times.push_back(to_ticks(cost(bytes / count, most, nodes)));
  }
  problem_.groups.push_back(std::move(group));
}

void ProblemBuilder::link_edges() {
  std::vector<std::vector<std::uint32_t>> in(problem_.operators.size()), out(in.size());
  for (std::size_t k = 0; k < problem_.edges.size(); ++k) {
    in[problem_.edges[k].to].push_back(narrow(k));
    out[problem_.edges[k].from].push_back(narrow(k));
  }
  for (std::size_t op = 0; op < in.size(); ++op) {
    PlacedOperator& placed = problem_.operators[op];
    placed.first_input = narrow(problem_.input_edges.size());
    placed.inputs = narrow(in[op].size());
    problem_.input_edges.insert(problem_.input_edges.end(), in[op].begin(), in[op].end());
    placed.first_reader = narrow(problem_.reader_edges.size());
    placed.readers = narrow(out[op].size());
    problem_.reader_edges.insert(problem_.reader_edges.end(), out[op].begin(), out[op].end());
  }
}

/// No schedule takes longer than this: all parts and weights one after the other, and before each
/// operator the longest transfer to it.
double ProblemBuilder::longest_step() const {
  double total = 0;
  for (std::size_t op = 0; op < problem_.operators.size(); ++op) {
    const PlacedOperator& placed = problem_.operators[op];
    double parts = 0, transfer = 0;
    for (std::size_t choice = 0; choice < placed.configurations; ++choice) {
      const Configuration& configuration = problem_.configuration(op, choice);
      for (std::size_t kind = 0; kind < problem_.kind_count; ++kind)
        parts = std::max(
            parts, static_cast<double>(configuration.parts) *
                       static_cast<double>(problem_.part_times[configuration.first_time + kind]));
    }
    for (std::uint32_t k = 0; k < placed.inputs; ++k)
      transfer = std::max(
          transfer, longest_transfer(problem_.edges[problem_.input_edges[placed.first_input + k]]));
    total += parts + transfer;
  }
  for (const WeightGroup& group : problem_.groups)
    for (const SyncTable& table : group.tables)
      for (std::size_t k = 0; k < problem_.largest_node * problem_.node_count; ++k)
        total += static_cast<double>(problem_.sync_times[table.first_time + k]) * table.pieces;
  return total;
}

double ProblemBuilder::longest_transfer(const PlacedEdge& edge) const {
  Ticks longest = 0;
  const std::size_t choices = std::size_t{problem_.operators[edge.from].configurations} *
                              problem_.operators[edge.to].configurations;
  for (std::size_t k = 0; k < choices; ++k) {
    const OverlapTable& table = problem_.tables[edge.first_table + k];
    const std::uint32_t first = problem_.overlap_starts[table.starts_from];
    const std::uint32_t end = problem_.overlap_starts[table.starts_to];
    for (std::uint32_t j = first; j < end; ++j)
      for (std::size_t path = 0; path < problem_.paths.size(); ++path)
        longest =
            std::max(longest, problem_.transfer_times[problem_.overlaps[j].first_time + path]);
  }
  return static_cast<double>(longest);
}

core::Result<PlacementProblem> ProblemBuilder::finish(Ticks longest) {
  if (problem_.slot_count > kMostSlots)
    return core::unsupported(fmt::format("there are {} parts, and at most {} can be placed",
                                         problem_.slot_count, kMostSlots));
  link_edges();
  if (longest_step() > static_cast<double>(longest))
    return core::unsupported("a step may take longer than can be simulated");
  return std::move(problem_);
}

}  // namespace soapstone::parallel
