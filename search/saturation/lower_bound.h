// How cheap a graph of an e-graph can be at all: lower bounds that hold although e-nodes are shared
// and whatever choices would be circular.
#pragma once

#include <vector>

#include "search/saturation/eqsat_selection.h"

namespace soapstone::search {

/// The classes behind these ids, ascending, each once; ids that are none are left out.
std::vector<rules::ClassId> different(const rules::EGraph& graph,
                                      std::span<const rules::ClassId> ids);

/// By class: the dearest chain of operators that a graph of the class has at least; infinite if no
/// graph makes it. Units: microseconds.
std::vector<double> chain_bounds(const EqsatProblem& problem, const ENodeCosts& costs);

/// No graph in the e-graph costs less, if ENodeCosts::at_least() holds. Units: microseconds.
/// Source: the dual of the integer program that chooses e-nodes. Each class divides its cost among
/// the classes that may read it; `rounds` of a subgradient method move these shares to the readers
/// that a cheapest graph seems to have. E-nodes that only circles need are left out. The classes
/// that every graph has, and the dearest chain of operators, are bounds, too.
/// Complexity: classes times e-nodes, and linear in the e-graph for each round.
double lower_bound(const EqsatProblem& problem, const ENodeCosts& costs, int rounds);

}  // namespace soapstone::search
