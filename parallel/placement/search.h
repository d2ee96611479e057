// Search for a placement: Markov chains over moves of single operators, of operators that share a
// weight and of runs of operators, with descents between them. After Z. Jia, M. Zaharia and
// A. Aiken, "Beyond Data and Model Parallelism for Deep Neural Networks" (MLSys 2019), section 6;
// moves of several operators and orderly placements are ours.
#pragma once

#include <cstdint>
#include <functional>

#include "parallel/simulation/problem.h"
#include "parallel/simulation/simulator.h"

namespace soapstone::parallel {

struct PlacementSearchOptions {
  std::uint64_t seed = 1;
  std::size_t chains = 4;               ///< The best of their results counts.
  std::uint64_t proposals = 1'000'000;  ///< Of each chain.
  int threads = 1;                      ///< Changes nothing but the time it takes.
  /// Asked now and then; the search ends when it says so. For any number of proposals.
  std::function<bool()> is_over = [] { return false; };
};

struct PlacementSearchResult {
  Placement placement;
  Ticks time = 0;
  std::uint64_t proposals = 0;  ///< Of all chains.
};

/// `start` must fit in memory. The result is never worse.
PlacementSearchResult search_placement(const PlacementProblem& problem, const Placement& start,
                                       const PlacementSearchOptions& options);

/// Each operator with its choice of most parts, whose weight is in as few pieces as possible, on as
/// many devices in their order: data parallel, where operators are cut along samples.
Placement spread_placement(const PlacementProblem& problem);

}  // namespace soapstone::parallel
