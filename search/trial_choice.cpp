// Chooses in the runtime of the deployment: first which of the baseline's rewrites do no harm
// there, later which of the search's do good.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "search/optimizer.h"

namespace soapstone::search {
namespace {

std::vector<Step> joined(std::vector<Step> first, std::vector<Step> second) {
  const std::uint32_t sites = first.empty() ? 0 : first.back().site + 1;
  for (Step& step : second) {
    step.site += sites;
    first.push_back(std::move(step));
  }
  return first;
}

}  // namespace

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

/// Adds forms that make the model faster in the runtime. They are no matter of peaks of memory.
core::Status Optimizer::add_forms(Replayed& now) {
  if (!report_.trials) report_.trials.emplace().runtime = options_.clock->runtime();
  if (objective_.needs_memory() || interrupted()) return core::Done{};
  progress_.stage(fmt::format("trying forms in {}", options_.clock->runtime()));
  const Forms forms(rules_, options_.trials.forms, !freeze_);
  return try_forms(forms, *options_.clock, options_.trials, progress_, stop_, *report_.trials, now);
}

/// Leaves the cheapest candidate with what does good in the runtime. Peaks of memory are no matter
/// of single changes, so with memory in the objective the candidate is timed as it is.
core::Status Optimizer::choose_by_trials() {
  auto& best = report_.search.best;
  if (objective_.needs_memory()) {
    if (best.empty() || interrupted()) return core::Done{};
    chosen_ = choose_by_objective({});
    return chosen_ ? time_result() : core::Done{};
  }
  Replayed result{start_.graph, {}, {}};
  if (!best.empty() && !interrupted()) {
    progress_.stage(fmt::format("trying changes in {}", options_.clock->runtime()));
    TrialReport trials;
    SOAPSTONE_ASSIGN_OR_RETURN(
        result, run_trials(start_.graph, best.front(), report_.cost_before.total_us, rules_,
                           *options_.clock, options_.trials, progress_, stop_, trials));
    std::ranges::move(trials.trials, std::back_inserter(report_.trials->trials));
    report_.trials->cpu_s += trials.cpu_s;
    report_.trials->wall_s += trials.wall_s;
  }
  result.steps = joined(start_.steps, std::move(result.steps));
  if (result.steps.empty()) return core::Done{};
  chosen_ = 0;
  core::Graph merged = merge_duplicates(result.graph, nullptr, !freeze_);
  const double cost_us = cost_.graph_cost(merged).total_us;
  best.insert(best.begin(), {std::move(merged), cost_us, std::move(result.steps), {cost_us}});
  return time_result();
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
