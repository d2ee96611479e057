#include "tests/parallel/random_problem.h"

#include "parallel/simulation/problem_builder.h"

namespace soapstone::parallel {
namespace {

std::size_t below(std::mt19937& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

Topology random_topology(std::mt19937& random, const RandomProblemSize& size) {
  const auto kind = [&](const char* name) {
    return DeviceKind{name, name, 1800, 1e9, {{core::DataType::kFloat32, 1e9}}};
  };
  Hierarchy machine{"random", {kind("a")}, {}, {}};
  const auto devices = static_cast<std::int64_t>(size.nodes * size.per_node);
  if (devices > 1 && below(random, 3) == 0) {
    machine.kinds.push_back(kind("b"));
    machine.devices = {{0, devices / 2}, {1, devices - devices / 2}};
  } else {
    machine.devices = {{0, devices}};
  }
  const double latency_us = below(random, 2) == 0 ? 0 : 3;
  machine.levels = {{"inside", static_cast<std::int64_t>(size.per_node), latency_us, 4e9},
                    {"between", static_cast<std::int64_t>(size.nodes), 2 * latency_us, 1e9,
                     static_cast<std::int64_t>(below(random, 2) == 0 ? 1 : size.per_node)}};
  return *Topology::make(std::move(machine));
}

std::vector<SampleGrid> random_grids(std::mt19937& random, const RandomProblemSize& size) {
  std::vector<SampleGrid> grids;
  for (std::uint32_t outputs = 1; outputs <= size.most_outputs; outputs *= 2)
    for (std::uint32_t samples = 1; samples <= size.most_samples; samples *= 2)
      if (below(random, 4) > 0) grids.push_back({samples, outputs});
  if (grids.empty()) grids.push_back({});
  return grids;
}

std::vector<ConfigurationSpec> configurations(std::mt19937& random, std::size_t kinds,
                                              const std::vector<SampleGrid>& grids) {
  std::vector<ConfigurationSpec> choices;
  for (const SampleGrid& grid : grids) {
    ConfigurationSpec choice;
    choice.parts = grid.samples * grid.outputs;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      choice.part_us.push_back(static_cast<double>(1 + below(random, 100)) / choice.parts);
    for (std::uint32_t part = 0; part < choice.parts; ++part)
      choice.piece_of_part.push_back(static_cast<std::uint16_t>(part % grid.outputs));
    choice.resident_bytes = static_cast<double>(below(random, 50));
    choice.output_bytes = 10;
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace

PlacementProblem random_problem(std::mt19937& random, const RandomProblemSize& size) {
  const Topology topology = random_topology(random, size);
  ProblemBuilder builder = *ProblemBuilder::make(topology, size.per_node);
  std::vector<std::vector<SampleGrid>> grids;
  std::vector<std::vector<std::uint32_t>> groups(1 + below(random, size.operators));
  for (std::uint32_t op = 0; op < size.operators; ++op) {
    grids.push_back(random_grids(random, size));
    builder.add_operator("op" + std::to_string(op),
                         configurations(random, topology.kinds().size(), grids.back()));
    if (below(random, 4) > 0) groups[below(random, groups.size())].push_back(op);
    for (std::uint32_t from = 0; from < op; ++from) {
      if (below(random, op) > 1) continue;
      const double bytes = 1000 * static_cast<double>(below(random, 50));
      builder.add_edge(from, op, [&](std::size_t a, std::size_t b) {
        return sample_overlaps(grids[from][a], grids[op][b], bytes);
      });
    }
  }
  for (const std::vector<std::uint32_t>& group : groups) {
    if (group.empty()) continue;
    const double us = static_cast<double>(below(random, 30));
    builder.add_group(group, 1, [&](double share, std::size_t most, std::size_t nodes) {
      return us * share * (static_cast<double>(most - 1) + 3 * static_cast<double>(nodes - 1));
    });
  }
  return *builder.finish();
}

Placement random_placement(std::mt19937& random, const PlacementProblem& problem) {
  Placement placement;
  placement.device.resize(problem.slot_count);
  for (const PlacedOperator& op : problem.operators)
    placement.choice.push_back(static_cast<std::uint16_t>(below(random, op.configurations)));
  for (std::uint8_t& device : placement.device)
    device = static_cast<std::uint8_t>(below(random, problem.device_count));
  return placement;
}

}  // namespace soapstone::parallel
