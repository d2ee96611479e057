// Whether known rules lead from one graph to another: both are rewritten breadth-first until the
// two sets of graphs meet.
#pragma once

#include "core/graph.h"
#include "rules/rule.h"

namespace soapstone::generator {

struct DerivationLimits {
  std::size_t graphs = 150;  ///< From each end.
  /// Graphs on the way may have so many operators more than the larger end.
  std::size_t more_operators = 1;
};

/// Whether the rules turn `a` into `b`, or both into the same graph, within the limits. Both have
/// the same inputs and results and numbers for all sizes. Thread-safe, deterministic.
bool derivable(const core::Graph& a, const core::Graph& b, const rules::RuleSet& rules,
               const DerivationLimits& limits = {});

}  // namespace soapstone::generator
