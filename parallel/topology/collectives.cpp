// See collectives.h. Below, n is the size of the group, B the bytes; a level joins P groups of m
// members with latency α, and W bytes leave such a group in a second.
#include "parallel/topology/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace soapstone::parallel {
namespace {

constexpr std::array kAlgorithms = {Algorithm::kRing, Algorithm::kTree, Algorithm::kHalvingDoubling,
                                    Algorithm::kHierarchical, Algorithm::kDirect};

double transfer_us(double bytes, const Span& span) { return bytes / span.bytes_per_s * 1e6; }
double lane_us(double bytes, const Span& span) { return bytes / span.lane_bytes_per_s * 1e6; }
double count_of(const Span& span) { return static_cast<double>(span.count); }
double steps_of_tree(const Span& span) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(span.count - 1)));
}

/// n − 1 rounds in each of which B/n leaves every group on every level.
double ring_us(const GroupShape& shape, double bytes) {
  const auto n = static_cast<double>(shape.size());
  double round_us = 0;
  for (const Span& span : shape.spans)
    round_us = std::max(round_us, span.latency_us + transfer_us(bytes / n, span));
  return (n - 1) * round_us;
}

/// A chain through which the tensor goes in k pieces: (n − 2 + k)·(α + B/(k·W)), least over k.
double chain_us(const GroupShape& shape, double bytes) {
  const auto n = static_cast<double>(shape.size());
  double latency_us = 0, whole_us = 0;
  for (const Span& span : shape.spans) {
    latency_us = std::max(latency_us, span.latency_us);
    whole_us = std::max(whole_us, lane_us(bytes, span));
  }
  const double best = latency_us > 0 ? std::sqrt((n - 2) * whole_us / latency_us) : bytes;
  const double pieces = std::clamp(std::floor(best), 1.0, std::max(1.0, bytes));
  return (n - 2 + pieces) * (latency_us + whole_us / pieces);
}

/// All of B in each step. On the outer levels one member of a group acts for all.
double tree_us(const GroupShape& shape, double bytes) {
  double us = 0;
  for (const Span& span : shape.spans)
    us += steps_of_tree(span) * (span.latency_us + lane_us(bytes, span));
  return us;
}

/// Level by level: each of the m members has B/m of the tensor, and P − 1 of its P pieces leave.
template <class Rounds>
double scatter_us(const GroupShape& shape, double bytes, Rounds rounds) {
  double us = 0;
  for (const Span& span : shape.spans)
    us += rounds(span) * span.latency_us + transfer_us(bytes * (1 - 1 / count_of(span)), span);
  return us;
}

double rounds_of_ring(const Span& span) { return count_of(span) - 1; }

bool is_power_of_two(const GroupShape& shape) {
  return std::has_single_bit(static_cast<std::uint64_t>(shape.size()));
}

std::optional<double> scatter_or_gather_us(Algorithm algorithm, const GroupShape& shape,
                                           double bytes) {
  switch (algorithm) {
  case Algorithm::kRing:
    return ring_us(shape, bytes);
  case Algorithm::kHierarchical:
    return scatter_us(shape, bytes, rounds_of_ring);
  case Algorithm::kHalvingDoubling:
    if (!is_power_of_two(shape)) return std::nullopt;
    return scatter_us(shape, bytes, steps_of_tree);
  default:
    return std::nullopt;
  }
}

/// Each device sends B/n to each other one; on a level, m·(P − 1)·m pieces leave a group.
double direct_us(const GroupShape& shape, double bytes) {
  const auto n = static_cast<double>(shape.size());
  double latency_us = 0, longest_us = 0;
  for (const Span& span : shape.spans) {
    const auto members = static_cast<double>(span.members);
    const double peers = (count_of(span) - 1) * members;
    latency_us += peers * span.latency_us;
    longest_us = std::max(longest_us, transfer_us(members * peers * bytes / n, span));
  }
  return latency_us + longest_us;
}

std::optional<double> all_to_all_us(Algorithm algorithm, const GroupShape& shape, double bytes) {
  switch (algorithm) {
  case Algorithm::kDirect:
    return direct_us(shape, bytes);
  case Algorithm::kTree: {  // Half of what each member has leaves in each step.
    double us = 0;
    for (const Span& span : shape.spans)
      us += steps_of_tree(span) *
            (span.latency_us + transfer_us(static_cast<double>(span.members) * bytes / 2, span));
    return us;
  }
  case Algorithm::kHierarchical: {  // All that is for other groups leaves, level after level.
    double us = 0;
    for (const Span& span : shape.spans) {
      const double leaves = static_cast<double>(span.members) * bytes * (1 - 1 / count_of(span));
      us += rounds_of_ring(span) * span.latency_us + transfer_us(leaves, span);
    }
    return us;
  }
  default:
    return std::nullopt;
  }
}

std::optional<double> broadcast_us(Algorithm algorithm, const GroupShape& shape, double bytes) {
  if (algorithm == Algorithm::kRing) return chain_us(shape, bytes);
  if (algorithm == Algorithm::kTree) return tree_us(shape, bytes);
  if (algorithm == Algorithm::kHalvingDoubling && is_power_of_two(shape))  // Scatter, all-gather.
    return 2 * scatter_us(shape, bytes, steps_of_tree);
  return std::nullopt;
}

}  // namespace

std::optional<double> collective_us(Collective collective, Algorithm algorithm,
                                    const GroupShape& shape, double bytes) {
  if (shape.size() == 1) return 0.0;
  switch (collective) {
  case Collective::kAllReduce: {
    if (algorithm == Algorithm::kTree) return 2 * tree_us(shape, bytes);
    const auto half = scatter_or_gather_us(algorithm, shape, bytes);
    return half ? std::optional(2 * *half) : std::nullopt;
  }
  case Collective::kReduceScatter:
  case Collective::kAllGather:
    return scatter_or_gather_us(algorithm, shape, bytes);
  case Collective::kAllToAll:
    return all_to_all_us(algorithm, shape, bytes);
  case Collective::kBroadcast:
    return broadcast_us(algorithm, shape, bytes);
  case Collective::kSend:
    break;
  }
  if (algorithm != Algorithm::kDirect) return std::nullopt;
  double us = 0;  // The longest way between two members.
  for (const Span& span : shape.spans) us = std::max(us, span.latency_us + lane_us(bytes, span));
  return us;
}

CollectiveTime best_collective(Collective collective, const GroupShape& shape, double bytes) {
  if (shape.measured && bytes > 0)
    if (const auto us = measured_us(*shape.measured, collective, shape.size(), bytes))
      return {*us, Algorithm::kMeasured};
  std::optional<CollectiveTime> best;
  for (const Algorithm algorithm : kAlgorithms)
    if (const auto us = collective_us(collective, algorithm, shape, bytes))
      if (!best || *us < best->us) best = {*us, algorithm};
  return *best;
}

std::string_view to_string(Collective collective) {
  constexpr std::array<std::string_view, 6> kNames = {"all_reduce", "reduce_scatter", "all_gather",
                                                      "all_to_all", "broadcast",      "send"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string_view to_string(Algorithm algorithm) {
  constexpr std::array<std::string_view, 6> kNames = {"ring",         "tree",   "halving_doubling",
                                                      "hierarchical", "direct", "measured"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

}  // namespace soapstone::parallel
