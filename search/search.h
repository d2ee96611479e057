// Cost-based backtracking over rewritten graphs (TASO, section 5; Jia et al., SOSP 2019):
// best first, keeping graphs that cost less than alpha times the best.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/progress.h"
#include "cost/cost_model.h"
#include "verifier/admission.h"

namespace soapstone::search {

struct SearchOptions {
  double alpha = 1.05;            ///< ≥ 1; at 1 only graphs that are better at once are followed.
  std::uint64_t budget = 20'000;  ///< Graphs to expand.
  int max_detour = 3;             ///< Rewrites in a row without a gain before a branch is given up.
  double time_s = 60;    ///< Wall clock; 0: no limit (a limit makes results depend on speed).
  int jobs = 0;          ///< Threads; 0: all cores. The result does not depend on it.
  std::size_t keep = 4;  ///< How many of the best graphs to return.
  std::size_t queue_limit = 20'000;
};

/// One rewrite on the way from the original to a result.
struct Step {
  std::string rule;       ///< Rule::name
  std::string base_rule;  ///< Rule::base_name
  core::RuleId id;
  rules::Match match;  ///< In the graph before.
  double gain_us = 0;  ///< Cost before minus cost after; negative steps enable later ones.
  core::Graph graph;   ///< After the rewrite.
};

struct Candidate {
  core::Graph graph;
  double cost_us = 0;
  std::vector<Step> steps;
};

enum class StopReason : std::uint8_t { kExhausted, kBudget, kTime, kInterrupted };
std::string_view to_string(StopReason reason);

struct SearchResult {
  std::vector<Candidate> best;  ///< Cheapest first; the last resort, the original, is not in it.
  cost::GraphCost cost_before;
  std::uint64_t graphs_expanded = 0;  ///< All successors by one rewrite considered.
  std::uint64_t graphs_built = 0;     ///< Successors made, costed and hashed.
  std::uint64_t duplicates = 0;
  double cpu_s = 0;
  StopReason stop_reason = StopReason::kExhausted;
};

/// Rounds of a fixed number of graphs are expanded in parallel and merged in order, so the result
/// is the same for any number of threads. Only matches that are admitted are replaced.
SearchResult search(const core::Graph& original, verifier::Admission& rules, cost::CostModel& cost,
                    const SearchOptions& options, core::ProgressSink& progress,
                    const core::StopToken& stop);

}  // namespace soapstone::search
