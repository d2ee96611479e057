// The cheapest graph of a small e-graph, by branch and bound.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/saturation/eqsat_selection.h"

namespace soapstone::search {

struct BranchAndBound {
  Selection best;         ///< Empty: nothing cheaper than what was known.
  double cost_us = 0;     ///< Cost of `best`, or the cost that was known before.
  bool complete = false;  ///< Nothing in the e-graph is cheaper.
  std::uint64_t steps = 0;
};

/// Looks at all selections whose bound is below `known_us`, dearest classes first.
/// `cost` says what a whole selection costs.
BranchAndBound branch_and_bound(const EqsatProblem& problem, const ENodeCosts& costs,
                                double known_us, std::uint64_t max_steps,
                                const std::function<double(const Selection&)>& cost,
                                const std::function<bool()>& stopped);

}  // namespace soapstone::search
