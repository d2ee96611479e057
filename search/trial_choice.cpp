// Chooses in the runtime of the deployment: first which of the baseline's rewrites do no harm
// there, later which of the search's do good.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "search/optimizer.h"
#include "search/trials/form_trials.h"

namespace soapstone::search {

/// How much faster `after` is in the runtime; none if the job is interrupted.
core::Result<std::optional<cost::Comparison>>
Optimizer::try_change(const core::Graph& before, const core::Graph& after, double budget_s) {
  auto compared = options_.clock->compare(before, after, budget_s, stop_);
  if (interrupted()) return std::optional<cost::Comparison>();
  if (!compared) return compared.error();
  return std::optional(*compared);
}

/// What the baseline makes of a model may undo what the runtime would have made of it. Its rules
/// are taken out one by one if it is slower than the original, the ones that are used most first.
core::Status Optimizer::try_baseline() {
  if (original_.hash() == report_.baseline.hash() || interrupted()) return core::Done{};
  progress_.stage(fmt::format("timing the baseline in {}", options_.clock->runtime()));
  const double budget_s = options_.trials.most_s;
  SOAPSTONE_ASSIGN_OR_RETURN(auto whole, try_change(original_, report_.baseline, budget_s));
  std::vector<std::pair<int, std::string>> rules;
  for (const auto& [rule, count] : report_.simplify.rules_applied) rules.emplace_back(count, rule);
  std::ranges::sort(rules, std::ranges::greater{});
  for (const auto& [count, rule] : rules) {
    if (!whole || whole->ratio.high >= 1) break;
    baseline_.exclude(rule);
    SimplifyReport simplified;
    SOAPSTONE_ASSIGN_OR_RETURN(core::Graph without,
                               simplify(original_, baseline_, &simplified, stop_, !freeze_));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto compared,
                               try_change(report_.baseline, without, budget_s));
    if (!compared || compared->ratio.low <= 1) {
      baseline_.readmit(rule);
      continue;
    }
    report_.notes.push_back(fmt::format("the baseline's rule {} is left out: in {} the model is "
                                        "{:.3f}x faster without it",
                                        rule, options_.clock->runtime(), compared->ratio.median));
    report_.baseline = std::move(without);
    report_.simplify = std::move(simplified);
    SOAPSTONE_ASSIGN_OR_RETURN(whole, try_change(original_, report_.baseline, budget_s));
  }
  if (whole) report_.baseline_speedup = whole->ratio;
  return core::Done{};
}

/// Leaves the cheapest candidate with what does good in the runtime. Peaks of memory are no matter
/// of single changes, so with memory in the objective the candidate is timed as it is.
core::Status Optimizer::choose_by_trials() {
  auto& best = report_.search.best;
  report_.trials.emplace();
  report_.trials->runtime = options_.clock->runtime();
  if (interrupted()) return core::Done{};
  progress_.stage(fmt::format("trying changes in {}", options_.clock->runtime()));
  if (objective_.needs_memory()) {
    if (best.empty()) return core::Done{};
    chosen_ = choose_by_objective({});
    return chosen_ ? time_result() : core::Done{};
  }
  Replayed tried{report_.baseline, {}, {}};
  if (!best.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        tried, run_trials(report_.baseline, best.front(), report_.cost_before.total_us, rules_,
                          *options_.clock, options_.trials, progress_, stop_, *report_.trials));
  }
  const Forms forms(rules_, options_.trials.forms, !freeze_);
  SOAPSTONE_RETURN_IF_ERROR(
      try_forms(forms, *options_.clock, options_.trials, progress_, stop_, *report_.trials, tried));
  if (!tried.steps.empty()) {
    chosen_ = 0;
    core::Graph merged = merge_duplicates(tried.graph, nullptr, !freeze_);
    const double cost_us = cost_.graph_cost(merged).total_us;
    best.insert(best.begin(), {std::move(merged), cost_us, std::move(tried.steps), {cost_us}});
  }
  return chosen_ ? time_result() : core::Done{};
}

/// The result has to be faster than the file that the user has.
core::Status Optimizer::time_result() {
  progress_.stage(fmt::format("timing the result in {}", options_.clock->runtime()));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto compared,
                             try_change(original_, chosen().graph, 2 * options_.trials.most_s));
  // What was kept until an interrupt has shown that it is faster.
  if (!compared) return core::Done{};
  report_.speedup = compared->ratio;
  report_.latency_before = Latency{compared->a, 0};
  report_.latency_after = Latency{compared->b, 0};
  const bool is_for_speed = options_.objective == ObjectiveKind::kLatency;
  if (is_for_speed && compared->ratio.low <= 1) {
    chosen_.reset();
    report_.outcome = Outcome::kGainNotReal;
  } else {
    report_.outcome = Outcome::kImproved;
  }
  return core::Done{};
}

}  // namespace soapstone::search
