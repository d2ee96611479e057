// What no placement can go below. Each weight has a degree, the number of devices that hold it: the
// higher it is, the longer it takes to synchronize, and the sooner its operators can have run.
// The bound is the least sum of synchronization and of what computation takes at least, over
// all degrees and all cuts of operators.
#pragma once

#include <string>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

struct PlacementBoundOptions {
  int rounds = 600;       ///< Of the relaxation over all degrees.
  int rounds_later = 60;  ///< Over some of them.
  int most_nodes = 60;    ///< Of the tree over degrees and devices.
};

struct PlacementBound {
  Ticks time = 0;
  Ticks sync = 0;       ///< The part of it that synchronizes weights.
  std::string binding;  ///< What keeps it from being lower, in words.
};

PlacementBound placement_bound(const PlacementProblem& problem,
                               const PlacementBoundOptions& options);

}  // namespace soapstone::parallel
