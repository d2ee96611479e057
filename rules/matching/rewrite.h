// Several rewrites in one go.
#pragma once

#include <span>

#include "rules/rule/rule.h"

namespace soapstone::rules {

struct Rewrite {
  core::RuleId rule;
  Match match;
};

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
