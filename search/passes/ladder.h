// What a search does, in which order: rungs of a ladder, each with more work than the one before. A
// greater effort climbs further, so its results include those of every smaller one.
#pragma once

#include <cstdint>
#include <vector>

#include "search/base/types.h"
#include "search/passes/way.h"

namespace soapstone::search {

struct Rung {
  /// Each goes on from the original as far as it gets.
  std::vector<Pass> openings;
  /// Whether one more opening folds before it merges, if what was found so far has merged.
  bool folds_first = false;
  std::vector<Pass> turns;  ///< In turn from the best graph, until none of them gains anything.
  /// Work (SearchResult::work) of this rung after which no pass is begun. It depends on nothing
  /// but the rung, lest a smaller effort end with a graph that a greater one does not see.
  std::uint64_t work = 0;
  /// An opening that has done more work than another one and is behind it is given up.
  bool is_race = false;
  /// Graphs from which each move of the search for plans goes on. 0: it is left to other rungs.
  std::size_t beam = 0;
};

/// The rungs that the options ask for, first to last. A single strategy is one rung without a limit
/// of work.
std::vector<Rung> ladder(const SearchOptions& options);

}  // namespace soapstone::search
