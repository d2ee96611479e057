// Costs in doubt: one that was measured wrongly hides what it makes look slow, for good. So a few
// changes that the cost model foretells to lose are tried in the runtime all the same.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cost/models/cost_model.h"
#include "search/trials/form_trials.h"

namespace soapstone::search {

/// The changes that are in doubt at most in one run.
constexpr std::size_t kMostDoubts = 2;

/// A cost that rests on no measurement: what any machine needs at least, node by node.
std::unique_ptr<cost::CostModel> make_second_opinion();

/// Rule::base_name of rules some match of which makes the graph cheaper in the eyes of `opinion`,
/// which has to know what a change costs; the largest gain first. Rules named in `without` and
/// those that are excluded are left out. None at `stop`. Else deterministic. Complexity: one search
/// for matches, and a bounded number of new graphs.
std::vector<std::string> rules_of_gain(const core::Graph& graph, const verifier::Admission& rules,
                                       cost::CostModel& opinion,
                                       const std::set<std::string>& without,
                                       const core::StopToken& stop);

/// Everything must outlive it.
struct DoubtContext {
  verifier::Admission& rules;
  cost::CostModel& cost;  ///< Its costs are in doubt.
  bool behind_opaque = true;
  ops::Surroundings surroundings = {};
  /// Whether a graph can be the result. May be empty.
  std::function<bool(const FormUse&)> may_be_result = nullptr;
};

/// Applies to `now` the rules of `names` that `context.cost` foretells to lose, or not to gain, and
/// that make the model faster in the runtime: of these kMostDoubts are tried, wherever they match,
/// and each for TrialOptions::least_s.
void try_doubts(const std::vector<std::string>& names, const DoubtContext& context,
                TrialClock& clock, const TrialOptions& options, core::ProgressSink& progress,
                const core::StopToken& stop, TrialReport& report, Replayed& now);

}  // namespace soapstone::search
