// The places at which a graph was changed: rewrites that touch one another make one place.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/rule.h"
#include "search/search.h"

namespace soapstone::search {

struct ChangedPlace {
  std::vector<std::size_t> steps;    ///< Numbers of the rewrites, ascending.
  std::vector<core::NodeId> before;  ///< The old nodes: all that a rule matched, in order.
  std::vector<core::NodeId> after;   ///< The nodes now: the old ones that are left, and new ones.
  double gain_us = 0;
};

struct ChangedPlaces {
  core::Graph after;                 ///< The graph after the last step.
  std::vector<ChangedPlace> places;  ///< In the order of the graph before.
  /// A new tensor of `after`: the tensor of the graph before that it stands for.
  std::map<core::TensorId, core::TensorId> stands_for;
};

/// Two steps belong together if the later one matches an operator that the earlier one made or
/// matched. Operators on weights alone join nothing, unless a rewrite made them: all layers may
/// share a constant. Precondition: as of for_each_graph(). Complexity: linear in the graph, for
/// each step.
ChangedPlaces find_changed_places(const core::Graph& before, const rules::RuleSet& rules,
                                  const std::vector<Step>& steps);

}  // namespace soapstone::search
