// The second strategy for a region: equality saturation. All graphs that the rules lead to are kept
// in one e-graph at once, within limits, and the cheapest is taken out (Tensat, Yang et al., MLSys
// 2021; here with costs that count what is shared once, and a bound for what is left to gain).
#pragma once

#include <cstdint>
#include <functional>

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "rules/saturation/saturate.h"
#include "search/regions/region_search.h"
#include "verifier/admission.h"

namespace soapstone::search {

struct EqsatLimits {
  rules::SaturationLimits saturation = {1'000, 12, 24, 20'000, {32, 128}};
  /// Regions of so many operators that do work, at most, are searched for the optimum.
  std::size_t exact_operators = 25;
  std::uint64_t exact_steps = 10'000;
  int bound_rounds = 0;  ///< To sharpen the lower bound; see lower_bound().
};

/// `rules` and `prepared` are the same rules in the same order. `guide` prices single e-nodes:
/// `cost` itself, or an estimate if so many cannot be timed. The result is one step, by a lemma
/// with its derivation. One thread; the result depends on the arguments alone unless `stopped` says
/// to stop: then it is the best of what is there. `has_specials`: NaN and infinities matter in some
/// tensor. An e-graph does not know in which, so rules that make something else of them are left
/// out.
RegionResult saturate_region(const core::Graph& graph, verifier::Admission& rules,
                             const rules::SaturationRules& prepared, cost::CostModel& cost,
                             cost::CostModel& guide, const EqsatLimits& limits,
                             const std::function<bool()>& stopped, bool has_specials = false);

}  // namespace soapstone::search
