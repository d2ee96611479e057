// A match whose place is known.
#pragma once

#include <optional>
#include <span>

#include "rules/matching/edited_graph.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

/// The match of a rule at these nodes (in the order of its source) and inputs, if it is there.
/// None, too, where a rule cannot be matched without a search: it has parameters, or symbols that
/// are neither a size of an input nor derived from some. Complexity: linear in the source.
std::optional<Match> match_at(const Graph& graph, const Rule& rule, std::span<const NodeId> nodes,
                              std::span<const TensorId> inputs);
std::optional<Match> match_at(const EditedGraph& graph, const Rule& rule,
                              std::span<const NodeId> nodes, std::span<const TensorId> inputs);

/// The same by a search, where that is what it takes.
std::optional<Match> find_match_at(const Graph& graph, const RuleSet& rules, core::RuleId rule,
                                   std::span<const NodeId> nodes, std::span<const TensorId> inputs);

}  // namespace soapstone::rules
