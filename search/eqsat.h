// The second search strategy: equality saturation. All graphs that the rules lead to are kept in
// one e-graph at once, within limits, and the cheapest is taken out (Tensat, Yang et al., MLSys
// 2021; here with costs that count what is shared once, and a bound for what is left to gain).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/progress.h"
#include "cost/cost_model.h"
#include "rules/saturate.h"
#include "verifier/admission.h"

namespace soapstone::search {

struct EqsatOptions {
  rules::SaturationLimits saturation = {5'000, 20};
  double time_s =
      60;  ///< Wall clock for the saturation; 0: none (a limit makes results depend on speed).
  /// Models of so many operators that do work, at most, are searched for the optimum.
  std::size_t exact_operators = 25;
  std::uint64_t exact_steps = 300'000;
};

struct EqsatRule {
  std::string base_rule;      ///< Rule::base_name
  std::size_t operators = 0;  ///< Of the result that it has made.
};

struct EqsatResult {
  std::optional<core::Graph> graph;  ///< None: nothing cheaper than the original was found.
  cost::GraphCost cost_before, cost_after;
  /// No graph in the e-graph is cheaper, if no launch costs less than its first operator alone.
  double bound_us = 0;
  bool optimal = false;  ///< `graph` (or the original) is the cheapest in the e-graph.
  /// What might still be gained, as a share of cost_after.
  double gap() const { return cost_after.total_us > 0 ? 1 - bound_us / cost_after.total_us : 0; }
  std::vector<EqsatRule> rules;  ///< That made the operators of `graph`; most operators first.
  rules::SaturationReport saturation;
  double cpu_s = 0;
};

/// Applies admitted matches only. Deterministic but for a limit of time. Stopped: the best of what
/// is there. It says which rules made the result, not in which steps: there is no proof chain.
EqsatResult eqsat(const core::Graph& original, verifier::Admission& rules, cost::CostModel& cost,
                  const EqsatOptions& options, core::ProgressSink& progress,
                  const core::StopToken& stop);

}  // namespace soapstone::search
