// Cost-based backtracking over one small graph (TASO, section 5; Jia et al., SOSP 2019): best
// first, keeping graphs that cost less than alpha times the best.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "rules/matching/rewrite.h"
#include "search/proofs/lemma.h"
#include "verifier/admission.h"

namespace soapstone::search {

struct RegionLimits {
  double alpha = 1.05;
  int max_detour = 3;               ///< Rewrites in a row without a gain.
  std::uint64_t budget = 20'000;    ///< Graphs to expand.
  std::uint64_t patience = 200;     ///< Graphs to expand after the last gain.
  std::size_t max_graphs = 20'000;  ///< To keep in memory.
  std::vector<bool> left_out;       ///< By rule: not used. Empty: all are.
};

/// By rule: whether it merges nodes into one whose result is split. What is merged is no longer
/// folded with what stands beside or behind it: a low-rank update of one projection, say, once the
/// projections are one product.
std::vector<bool> merging_rules(const rules::RuleSet& rules);

struct RegionStep {
  rules::Rewrite rewrite;  ///< Without a rule if there is a lemma.
  LemmaPtr lemma;          ///< Is applied in the place of a rule.
  double gain_us = 0;
  std::size_t node_bound_after = 0, tensor_bound_after = 0;
};

/// Why the search of a region ended.
enum class RegionStop : std::uint8_t {
  kExhausted,  ///< All within the limits but the budget was seen.
  kPatience,
  kBudget,
  kMemory,
  kStopped,  ///< From outside: another time it would have gone on.
};
std::string_view to_string(RegionStop stop);

struct RegionResult {
  std::vector<RegionStep> steps;  ///< To the best graph; empty: none is better.
  double cost_before_us = 0, cost_after_us = 0;
  /// Graphs whose successors by one rewrite were looked for; of these, all over the graph and not
  /// only near what has changed since the last gain.
  std::uint64_t expanded = 0, expanded_whole = 0;
  std::uint64_t built = 0, duplicates = 0;
  RegionStop stop = RegionStop::kExhausted;
  // The following are set by equality saturation alone.
  std::size_t e_nodes = 0;
  /// Nothing in the e-graph costs less, if the cost model is monotone.
  double bound_us = 0;
  /// The result is the cheapest of all that the rules lead to: the e-graph has all of it, and there
  /// is nothing cheaper in it.
  bool optimal = false;
  bool cheapest_kept = false;  ///< There is nothing cheaper in the e-graph.
  bool lost = false;           ///< Something cheaper was there, but no derivation of it.
  double gain_us() const { return cost_before_us - cost_after_us; }
};

/// One thread; the result depends on the arguments alone unless `stopped` says to stop. `specials`:
/// where NaN and infinities matter.
RegionResult search_region(const core::Graph& graph, verifier::Admission& rules,
                           cost::CostModel& cost, const RegionLimits& limits,
                           const std::function<bool()>& stopped,
                           const ops::SpecialValues& specials = {});

}  // namespace soapstone::search
