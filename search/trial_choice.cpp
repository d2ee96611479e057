// Chooses in the runtime of the deployment: first which of the baseline's rewrites do no harm
// there, later which of the search's do good.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ops/composites/composite.h"
#include "search/optimizer.h"
#include "search/trials/doubt_trials.h"

namespace soapstone::search {
namespace {

constexpr int kAskedAgain = 2;

}  // namespace

/// Leaves a rule of the baseline out if the model is faster without it, or measurable at all.
/// `whole`: the original compared with the baseline; likewise afterwards.
core::Status Optimizer::try_without(const std::string& rule,
                                    core::Result<cost::Comparison>& whole) {
  const double budget_s = trials_.most_s;
  SimplifyReport simplified;
  baseline_.exclude(rule);
  SOAPSTONE_ASSIGN_OR_RETURN(
      core::Graph without, simplify(original_, baseline_, &simplified, stop_, simplify_options()));
  const auto compared = whole ? clock_->compare(report_.baseline, without, budget_s, stop_)
                              : clock_->compare_file(original_, without, budget_s, stop_);
  if (!compared || (whole && compared->ratio.low <= 1)) {
    baseline_.readmit(rule);
    return core::Done{};
  }
  const std::string why = whole ? fmt::format("in {} the model is {:.3f}x faster without it",
                                              clock_->runtime(), compared->ratio.median)
                                : whole.error().message;
  report_.notes.push_back(fmt::format("the baseline's rule {} is left out: {}", rule, why));
  report_.baseline = std::move(without);
  report_.simplify = std::move(simplified);
  whole = clock_->compare_file(original_, report_.baseline, budget_s, stop_);
  return core::Done{};
}

/// What the baseline makes of a model may undo what the runtime would have made of it, or be
/// nothing that the runtime takes. Its rules are taken out one by one if it is slower than the
/// original, the ones that are used most first.
core::Status Optimizer::try_baseline() {
  if (original_.hash() == report_.baseline.hash() || interrupted()) return core::Done{};
  progress_.stage(fmt::format("timing the baseline in {}", clock_->runtime()));
  auto whole = clock_->compare_file(original_, report_.baseline, trials_.most_s, stop_);
  std::vector<std::pair<int, std::string>> rules;
  for (const auto& [rule, count] : report_.simplify.rules_applied) rules.emplace_back(count, rule);
  std::ranges::sort(rules, std::ranges::greater{});
  for (const auto& [count, rule] : rules) {
    if (interrupted() || clock_->given_up() || (whole && whole->ratio.high >= 1)) break;
    SOAPSTONE_RETURN_IF_ERROR(try_without(rule, whole));
  }
  if (whole) {
    report_.baseline_speedup = whole->ratio;
    baseline_times_ = *whole;
  } else if (!interrupted()) {
    report_.notes.push_back(fmt::format("what the baseline makes of the model could not be timed: "
                                        "{}",
                                        whole.error().message));
  }
  return core::Done{};
}

/// Adds forms that make the model faster in the runtime. They are no matter of peaks of memory.
void Optimizer::add_forms(const std::vector<std::string>& names, Replayed& now) {
  if (names.empty() || objective_.needs_memory() || interrupted()) return;
  progress_.stage(fmt::format("trying forms in {}", clock_->runtime()));
  const Forms forms(rules_, names, !freeze_,
                    ops::SpecialValues(now.graph, options_.search.surroundings));
  const Replayed before = now;
  try_forms(forms, *clock_, trials_, progress_, stop_, *report_.trials, now);
  if (now.steps.size() == before.steps.size() || !closes_sizes(now.graph, now.steps)) return;
  report_.notes.emplace_back("forms that hold only at some sizes were left out");
  now = before;
}

/// What is left of the candidate behind its trials. An interrupt, or no time for trials at all, is
/// no word against it: if it came before the first trial was over, the candidate is kept whole.
Replayed Optimizer::tried_candidate(const Candidate& candidate) {
  TrialReport& report = *report_.trials;
  const std::size_t before = report.trials.size();
  if (!interrupted()) {
    progress_.stage(fmt::format("trying changes in {}", clock_->runtime()));
    Replayed tried = run_trials(start_.graph, candidate, report_.search.cost_before.total_us,
                                rules_, *clock_, trials_, progress_, stop_, report);
    const bool is_judged = report.trials.size() > before || !report.given_up.empty();
    if (is_judged) return tried;
  }
  return {candidate.graph, candidate.steps, {}};
}

/// Tries a few changes that the cost model foretells to lose, so that no wrong cost hides them for
/// good. Rules that trials have left out are not in doubt, forms are tried anyway.
void Optimizer::try_against_costs(Replayed& now) {
  if (interrupted() || closes_always_ || !report_.trials->given_up.empty()) return;
  std::set<std::string> without(trials_.forms.begin(), trials_.forms.end());
  without.insert(trials_.last_forms.begin(), trials_.last_forms.end());
  if (!report_.search.best.empty())
    for (const Step& step : report_.search.best.front().steps)
      if (std::ranges::find(now.steps, step.base_rule, &Step::base_rule) == now.steps.end())
        without.insert(step.base_rule);
  const auto opinion = make_second_opinion();
  const std::vector<std::string> names = rules_of_gain(now.graph, rules_, *opinion, without, stop_);
  if (names.empty()) return;
  progress_.stage(fmt::format("trying in {} what costs foretell to lose", clock_->runtime()));
  const auto may_be_result = [&](const FormUse& used) {
    if (options_.writable && !options_.writable(used.graph)) return false;
    std::vector<Step> steps = now.steps;
    append_steps(steps, used.steps);
    return !closes_sizes(used.graph, steps);
  };
  try_doubts(names, {rules_, cost_, !freeze_, options_.search.surroundings, may_be_result}, *clock_,
             trials_, progress_, stop_, *report_.trials, now);
}

/// Leaves the cheapest candidate with what does good in the runtime. Peaks of memory are no matter
/// of single changes, so with memory in the objective the candidate is timed as it is.
void Optimizer::choose_by_trials() {
  auto& best = report_.search.best;
  if (objective_.needs_memory()) {
    if (!best.empty()) chosen_ = choose_by_objective({});
    if (chosen_) time_result();
    return;
  }
  Replayed result{start_.graph, {}, {}};
  if (!best.empty()) result = tried_candidate(best.front());
  if (const std::string& why = report_.trials->given_up; !why.empty())
    report_.notes.push_back(why + "; the result has the changes that were kept before");
  std::vector<Step> steps = start_.steps;
  append_steps(steps, std::move(result.steps));
  result.steps = std::move(steps);
  try_against_costs(result);
  add_forms(trials_.last_forms, result);
  if (result.steps.empty()) return;
  chosen_ = 0;
  core::Graph merged = merge_duplicates(result.graph, nullptr, !freeze_);
  const double cost_us = cost_.graph_cost(ops::expanded(merged)).total_us;
  best.insert(best.begin(), {std::move(merged), cost_us, std::move(result.steps), {cost_us}});
  time_result();
}

/// Whether the baseline is the original, or was seen to be no slower.
bool Optimizer::is_baseline_harmless() const {
  return original_.hash() == report_.baseline.hash() ||
         (report_.baseline_speedup && report_.baseline_speedup->high >= 1);
}

/// The result has to be faster than the file that the user has.
void Optimizer::time_result() {
  if (interrupted()) return;
  progress_.stage(fmt::format("timing the result in {}", clock_->runtime()));
  const double budget_s = 2 * trials_.most_s;
  auto compared = clock_->compare_file(original_, chosen().graph, budget_s, stop_);
  // All depends on this one, so a runtime that failed is asked again until it is given up.
  for (int again = 0; again < kAskedAgain && !compared && !interrupted(); ++again)
    compared = clock_->compare_file(original_, chosen().graph, budget_s, stop_);
  // What was kept until an interrupt has shown that it is faster.
  if (interrupted()) return;
  report_.outcome = Outcome::kImproved;
  if (!compared) {
    report_.notes.push_back(fmt::format("the result as a whole could not be timed in {}: {}",
                                        clock_->runtime(), compared.error().message));
    // Each change that was kept has shown that it is faster, if the runtime was given up only now.
    if (clock_->given_up() && is_baseline_harmless() && !objective_.needs_memory()) return;
    chosen_.reset();
    report_.outcome = Outcome::kNoGainFound;
    return;
  }
  report_.speedup = compared->ratio;
  report_.latency_before = Latency{compared->a, 0};
  report_.latency_after = Latency{compared->b, 0};
  if (has_to_be_faster() && compared->ratio.low <= 1) {
    chosen_.reset();
    report_.outcome = Outcome::kGainNotReal;
  }
}

}  // namespace soapstone::search
