// See bound_options.h.
#include "parallel/placement/bound_options.h"

#include <algorithm>
#include <limits>

#include "parallel/placement/chain_times.h"

namespace soapstone::parallel {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

double fastest_part(const PlacementProblem& problem, const Configuration& configuration) {
  const Ticks* const times = &problem.part_times[configuration.first_time];
  return static_cast<double>(*std::min_element(times, times + problem.kind_count));
}

/// How many parts hold each piece.
std::vector<std::size_t> copies_of(const PlacementProblem& problem,
                                   const Configuration& configuration) {
  std::vector<std::size_t> copies(configuration.pieces);
  for (std::uint32_t part = 0; part < configuration.parts; ++part)
    ++copies[problem.piece_of_part[configuration.first_piece + part]];
  return copies;
}

/// The least time to synchronize a piece that so many devices hold, or more.
double least_sync(const PlacementProblem& problem, const SyncTable& table, std::size_t devices) {
  double least = kUnbounded;
  for (std::size_t most = 1; most <= problem.largest_node; ++most)
    for (std::size_t nodes = 1; nodes <= problem.node_count; ++nodes)
      if (most * nodes >= devices)
        least = std::min(
            least,
            static_cast<double>(problem.sync_times[table.first_time +
                                                   (most - 1) * problem.node_count + nodes - 1]));
  return least;
}

/// `in_turn`: parts that the fullest device has at least.
BoundOption option_on(const PlacementProblem& problem, const Configuration& configuration,
                      double in_turn) {
  const double time = fastest_part(problem, configuration);
  return {time, time * in_turn,
          time * configuration.parts / static_cast<double>(problem.device_count)};
}

BoundGroup group_of(const PlacementProblem& problem, const WeightGroup& weight) {
  BoundGroup group{weight.members, {}, {}};
  for (std::size_t devices = 1; devices <= problem.device_count; ++devices) {
    double least = kUnbounded;  // Every piece is on so many devices.
    for (const SyncTable& table : weight.tables)
      least = std::min(least, table.pieces * least_sync(problem, table, devices));
    group.sync.push_back(least);
  }
  for (const std::uint32_t member : weight.members) {
    auto& by_degree = group.options.emplace_back(problem.device_count);
    for (std::size_t k = 0; k < problem.operators[member].configurations; ++k) {
      const Configuration& configuration = problem.configuration(member, k);
      const std::size_t copies = std::ranges::min(copies_of(problem, configuration));
      for (std::size_t devices = 1; devices <= problem.device_count; ++devices)
        by_degree[devices - 1].push_back(option_on(
            problem, configuration, static_cast<double>(copies) / static_cast<double>(devices)));
    }
  }
  return group;
}

/// By devices: the least time to synchronize all pieces if together they are on so many.
std::vector<double> sync_of_single(const PlacementProblem& problem, std::size_t op,
                                   const Configuration& configuration) {
  const std::uint32_t group = problem.operators[op].group;
  std::vector<double> sync(configuration.parts + 1, 0.0);
  if (group == kNoGroup) return sync;
  const auto& tables = problem.groups[group].tables;
  const SyncTable& table = *std::ranges::find(tables, configuration.pieces, &SyncTable::pieces);
  std::vector<double> held;  // By devices that hold a piece.
  for (std::size_t k = 0; k <= configuration.parts; ++k)
    held.push_back(least_sync(problem, table, k));
  std::fill(sync.begin() + 1, sync.end(), kUnbounded);
  for (const std::size_t copies : copies_of(problem, configuration)) {
    std::vector<double> next(sync.size(), kUnbounded);
    for (std::size_t before = 0; before < sync.size(); ++before)
      for (std::size_t more = 1; more <= copies && before + more < sync.size(); ++more)
        next[before + more] = std::min(next[before + more], sync[before] + held[more]);
    sync = std::move(next);
  }
  for (std::size_t k = sync.size() - 1; k-- > 0;) sync[k] = std::min(sync[k], sync[k + 1]);
  return sync;
}

double rounds(std::size_t parts, std::size_t devices) {
  const std::size_t whole = (parts + devices - 1) / devices;
  return static_cast<double>(whole);
}

std::vector<SingleOption> options_of(const PlacementProblem& problem, std::uint32_t op) {
  std::vector<SingleOption> options;
  for (std::size_t k = 0; k < problem.operators[op].configurations; ++k) {
    const Configuration& configuration = problem.configuration(op, k);
    const std::vector<double> sync = sync_of_single(problem, op, configuration);
    const std::size_t most = std::min<std::size_t>(configuration.parts, problem.device_count);
    for (std::size_t devices = 1; devices <= most; ++devices)
      options.push_back({option_on(problem, configuration, rounds(configuration.parts, devices)),
                         sync[devices], k, devices});
  }
  return options;
}

std::vector<double> least_by_devices(const std::vector<SingleOption>& options) {
  std::vector<double> least;
  for (const SingleOption& option : options) {
    if (least.size() < option.devices) least.resize(option.devices, kUnbounded);
    double& here = least[option.devices - 1];
    here = std::min(here, option.sync);
  }
  return least;
}

}  // namespace

BoundProblem::BoundProblem(const PlacementProblem& problem)
    : inputs(problem.operators.size()), readers(problem.operators.size()),
      sync_of_devices(problem.operators.size()), continues_chain(problem.operators.size()),
      after(problem.operators.size()) {
  std::vector<bool> is_single(size(), true);
  for (const WeightGroup& weight : problem.groups) {
    if (weight.members.size() == 1) continue;
    groups.push_back(group_of(problem, weight));
    for (const std::uint32_t member : weight.members) is_single[member] = false;
  }
  for (const PlacedEdge& edge : problem.edges) {
    inputs[edge.to].push_back(edge.from);
    readers[edge.from].push_back(edge.to);
  }
  for (std::size_t op = size(); op-- > 0;) {
    after[op].resize(size());
    for (const std::uint32_t to : readers[op]) {
      after[op][to] = true;
      for (std::size_t k = to + 1; k < size(); ++k)
        if (after[to][k]) after[op][k] = true;
    }
  }
  const ChainTimes times(problem);
  std::vector<std::size_t> chain_of(size());
  for (std::uint32_t op = 0; op < size(); ++op) {
    if (!is_single[op]) continue;
    const PlacedOperator& placed = problem.operators[op];
    continues_chain[op] = placed.inputs == 1 && is_single[inputs[op][0]] &&
                          problem.operators[inputs[op][0]].readers == 1;
    chain_of[op] = continues_chain[op] ? chain_of[inputs[op][0]] : chains.size();
    if (!continues_chain[op]) chains.emplace_back();
    BoundChain& chain = chains[chain_of[op]];
    chain.operators.push_back(op);
    chain.options.push_back(options_of(problem, op));
    sync_of_devices[op] = least_by_devices(chain.options.back());
    if (!continues_chain[op]) continue;
    std::vector<double>& delays = chain.delays.emplace_back();
    std::vector<double>& pairs = chain.pairs.emplace_back();
    const PlacedEdge& edge = problem.edges[problem.input_edges[placed.first_input]];
    for (const SingleOption& from : chain.options[chain.options.size() - 2])
      for (const SingleOption& to : chain.options.back()) {
        delays.push_back(times.delay(edge, from, to));
        pairs.push_back(times.pair(edge, from, to));
      }
  }
}

}  // namespace soapstone::parallel
