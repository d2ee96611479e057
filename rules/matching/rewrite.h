// Several rewrites in one go.
#pragma once

#include <span>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

struct Rewrite {
  core::RuleId rule;
  Match match;
};

/// The graph with a match replaced, and what its outputs were replaced by.
struct Applied {
  Graph graph;
  std::vector<TensorId> results;  ///< By output of the match: in `graph`, if it is still needed.
};
/// apply(), for callers who follow a tensor through rewrites. Errors: as apply().
Result<Applied> apply_and_follow(const Graph& graph, const Rule& rule, const Match& match);

/// A graph that is being rewritten, and what its outputs are by now.
struct Edited {
  explicit Edited(const Graph& graph)
      : builder(graph), outputs(graph.outputs().begin(), graph.outputs().end()) {}
  core::GraphBuilder builder;
  std::vector<TensorId> outputs;
};
/// Replaces a match; Applied::results. Nothing is removed or checked for cycles before the builder
/// finishes. Errors: as apply(); then nodes were added that nobody needs.
Result<std::vector<TensorId>> apply_to(Edited& edited, const Rule& rule, const Match& match);

/// The same with the rule itself, which may be in no set.
struct RewriteBy {
  const Rule& rule;
  const Match& match;
};

/// The graph after applying one after the other, with the same ids, but finished once. The matches
/// must hold by then: a node that one of them replaces or redirects is in no later one. Errors: as
/// apply(); a cycle may close by several rewrites together.
Result<Graph> apply_all(const Graph& graph, std::span<const RewriteBy> rewrites);

}  // namespace soapstone::rules
