// Chooses in the runtime of the deployment: first which of the baseline's rewrites do no harm
// there, later which of the search's do good.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "search/optimizer.h"

namespace soapstone::search {

/// What the baseline makes of a model may undo what the runtime would have made of it. Its rules
/// are taken out one by one if it is slower than the original, the ones that are used most first.
core::Status Optimizer::try_baseline() {
  if (original_.hash() == report_.baseline.hash() || interrupted()) return core::Done{};
  progress_.stage(fmt::format("timing the baseline in {}", options_.clock->runtime()));
  const double budget_s = options_.trials.most_s;
  const auto faster = [&](const core::Graph& a, const core::Graph& b) {
    return options_.clock->compare(a, b, budget_s, stop_);
  };
  SOAPSTONE_ASSIGN_OR_RETURN(auto compared, faster(original_, report_.baseline));
  report_.baseline_speedup = compared.ratio;
  std::vector<std::pair<int, std::string>> rules;
  for (const auto& [rule, count] : report_.simplify.rules_applied) rules.emplace_back(count, rule);
  std::ranges::sort(rules, std::ranges::greater{});
  for (const auto& [count, rule] : rules) {
    if (interrupted() || report_.baseline_speedup->high >= 1) break;
    baseline_.exclude(rule);
    SimplifyReport simplified;
    SOAPSTONE_ASSIGN_OR_RETURN(core::Graph without,
                               simplify(original_, baseline_, &simplified, stop_, !freeze_));
    SOAPSTONE_ASSIGN_OR_RETURN(compared, faster(report_.baseline, without));
    if (compared.ratio.low <= 1) {
      baseline_.readmit(rule);
      continue;
    }
    report_.notes.push_back(fmt::format("the baseline's rule {} is left out: with it the model is "
                                        "{:.3f} times as fast in {}",
                                        rule, 1 / compared.ratio.median,
                                        options_.clock->runtime()));
    report_.baseline = std::move(without);
    report_.simplify = std::move(simplified);
    SOAPSTONE_ASSIGN_OR_RETURN(compared, faster(original_, report_.baseline));
    report_.baseline_speedup = compared.ratio;
  }
  return core::Done{};
}

/// Leaves the cheapest candidate with what does good in the runtime. Peaks of memory are no matter
/// of single changes, so with memory in the objective the candidate is timed as it is.
core::Status Optimizer::choose_by_trials() {
  auto& best = report_.search.best;
  report_.trials.emplace();
  report_.trials->runtime = options_.clock->runtime();
  if (best.empty() || interrupted()) return core::Done{};
  progress_.stage(fmt::format("trying changes in {}", options_.clock->runtime()));
  chosen_ = 0;
  if (objective_.needs_memory()) {
    chosen_ = choose_by_objective({});
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(Replayed tried,
                               run_trials(report_.baseline, best.front(),
                                          report_.cost_before.total_us, rules_, *options_.clock,
                                          options_.trials, progress_, stop_, *report_.trials));
    if (tried.steps.empty()) chosen_.reset();
    core::Graph merged = merge_duplicates(tried.graph, nullptr, !freeze_);
    const double cost_us = cost_.graph_cost(merged).total_us;
    best.insert(best.begin(), {std::move(merged), cost_us, std::move(tried.steps), {cost_us}});
  }
  return chosen_ ? time_result() : core::Done{};
}

/// The result has to be faster than the file that the user has.
core::Status Optimizer::time_result() {
  progress_.stage(fmt::format("timing the result in {}", options_.clock->runtime()));
  SOAPSTONE_ASSIGN_OR_RETURN(
      const cost::Comparison compared,
      options_.clock->compare(original_, chosen().graph, 2 * options_.trials.most_s, stop_));
  report_.speedup = compared.ratio;
  report_.latency_before = Latency{compared.a, 0};
  report_.latency_after = Latency{compared.b, 0};
  const bool is_for_speed = options_.objective == ObjectiveKind::kLatency;
  if (is_for_speed && compared.ratio.low <= 1) {
    chosen_.reset();
    report_.outcome = Outcome::kGainNotReal;
  } else {
    report_.outcome = Outcome::kImproved;
  }
  return core::Done{};
}

}  // namespace soapstone::search
