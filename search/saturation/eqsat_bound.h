// How cheap a graph of an e-graph can be at all: lower bounds that hold although e-nodes are
// shared, and, for small ones, the optimum by branch and bound.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/saturation/eqsat_selection.h"

namespace soapstone::search {

/// Units: microseconds. No graph in the e-graph costs less, if ENodeCosts::at_least() holds.
/// Source: the cost of an e-node is divided among all that may read it, so that what is read
/// several times is not counted several times; and the dearest chain of operators is no dearer than
/// the whole.
double lower_bound(const EqsatProblem& problem, const ENodeCosts& costs);

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
