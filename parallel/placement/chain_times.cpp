#include "parallel/placement/chain_times.h"

#include <algorithm>
#include <limits>

namespace soapstone::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class Reads : std::uint8_t { kSome, kAll, kOnePartEach };

/// What each part of the reader reads of the source's parts; `kOnePartEach`: one that no other
/// does.
Reads reads_of(const PlacementProblem& problem, const OverlapTable& table, std::size_t sources,
               std::size_t readers) {
  bool is_all = true, is_one_each = sources == readers;
  std::vector<bool> is_read(sources, false);
  for (std::size_t part = 0; part < readers; ++part) {
    const std::uint32_t* const starts = &problem.overlap_starts[table.starts_to + part];
    is_all = is_all && starts[1] - starts[0] == sources;
    for (std::uint32_t k = starts[0]; k < starts[1]; ++k) {
      const std::uint32_t source = problem.overlaps[k].part;
      is_one_each = is_one_each && starts[1] - starts[0] == 1 && !is_read[source];
      is_read[source] = true;
    }
  }
  return is_all ? Reads::kAll : is_one_each ? Reads::kOnePartEach : Reads::kSome;
}

}  // namespace

ChainTimes::ChainTimes(const PlacementProblem& problem) : problem_(problem) {
  is_between_.resize(problem.paths.size());
  for (std::size_t pair = 0; pair < problem.path_class.size(); ++pair)
    if (problem.node_of[pair / problem.device_count] !=
        problem.node_of[pair % problem.device_count])
      is_between_[problem.path_class[pair]] = true;
}

double ChainTimes::transfer(const Overlap& overlap, bool between_nodes) const {
  double least = kNever;
  for (std::size_t k = 1; k < problem_.paths.size(); ++k)
    if (!between_nodes || is_between_[k])
      least = std::min(least, static_cast<double>(problem_.transfer_times[overlap.first_time + k]));
  return least == kNever ? 0 : least;
}

double ChainTimes::least_transfer(const OverlapTable& table, std::size_t readers) const {
  const std::uint32_t* const starts = &problem_.overlap_starts[table.starts_to];
  double least = kNever;
  for (std::uint32_t k = starts[0]; k < starts[readers]; ++k)
    least = std::min(least, transfer(problem_.overlaps[k], false));
  return least;
}

double ChainTimes::delay(const PlacedEdge& edge, const SingleOption& from,
                         const SingleOption& to) const {
  const OverlapTable& table = problem_.table(edge, from.choice, to.choice);
  const std::size_t sources = problem_.configuration(edge.from, from.choice).parts;
  const std::size_t readers = problem_.configuration(edge.to, to.choice).parts;
  double least = kNever;
  for (std::size_t part = 0; part < readers; ++part) {
    const std::uint32_t* const starts = &problem_.overlap_starts[table.starts_to + part];
    const std::size_t read = starts[1] - starts[0], unread = sources - read;
    const std::size_t apart = from.devices > unread ? from.devices - unread : 1;
    const double waits = read == sources ? from.takes.load - from.takes.time : 0;
    double sent = apart > 1 ? kNever : 0;
    for (std::uint32_t k = starts[0]; k < starts[1] && apart > 1; ++k)
      sent = std::min(sent, transfer(problem_.overlaps[k], apart > problem_.largest_node));
    least = std::min(least, std::max(waits, sent));
  }
  return std::max(0.0, least);
}

double ChainTimes::pair(const PlacedEdge& edge, const SingleOption& from,
                        const SingleOption& to) const {
  const OverlapTable& table = problem_.table(edge, from.choice, to.choice);
  const std::size_t sources = problem_.configuration(edge.from, from.choice).parts;
  const std::size_t readers = problem_.configuration(edge.to, to.choice).parts;
  const double sources_in_turn = from.takes.load - from.takes.time;
  const double readers_in_turn = to.takes.load - to.takes.time;
  const double both_in_turn = sources_in_turn + readers_in_turn;
  switch (reads_of(problem_, table, sources, readers)) {
  case Reads::kAll:
    return both_in_turn;
  case Reads::kSome:
    return std::max(sources_in_turn, readers_in_turn);
  case Reads::kOnePartEach:
    break;
  }
  const double sent = least_transfer(table, readers);
  return std::max({sources_in_turn, readers_in_turn,
                   from.devices == to.devices ? std::min(both_in_turn, sent) : sent});
}

}  // namespace soapstone::parallel
