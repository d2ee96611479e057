// What every good runtime does before it runs a model: the fair baseline. Nothing here counts as a
// gain of the search.
#pragma once

#include <map>
#include <string>

#include "core/graph.h"
#include "core/result.h"
#include "rules/rule.h"
#include "runtime/backend.h"

namespace soapstone::search {

struct SimplifyReport {
  std::map<std::string, int> rules_applied;  ///< By Rule::base_name.
  int merged_duplicates = 0;
};

/// Applies `baseline` rules until none matches and merges equal nodes.
/// Every baseline rule must shrink the graph or move work into constants, or this does not end;
/// a bound on the rounds makes that an error of ours, not a hang.
core::Graph simplify(const core::Graph& graph, const rules::RuleSet& baseline,
                     SimplifyReport* report = nullptr);

/// Nodes with the same operator, attributes and inputs become one.
core::Graph merge_duplicates(const core::Graph& graph, int* merged = nullptr);

/// Constant expressions become constants, computed on the backend. What is a single `full` stays
/// as it is: it is smaller that way.
core::Result<core::Graph> fold_constants(const core::Graph& graph, runtime::Backend& backend);

}  // namespace soapstone::search
