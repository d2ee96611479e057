// Finds the rewrite that made the difference if a result differs from the original. The search then
// goes on without its rule.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "search/optimizer.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Result;

/// So many rules are taken out, one round of the search each, before the job is given up.
constexpr int kMostRounds = 8;
/// So many rounds look for single rules that spread NaN; the next one takes out all that may.
constexpr int kMostSpreadRounds = 3;

std::vector<std::string> names_of(const Lemma& lemma, const rules::RuleSet& rules) {
  std::vector<std::string> names;
  for (const LemmaStep& step : lemma.steps)
    if (const std::string& name = rules[step.rule].base_name;
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return names;
}

}  // namespace

/// None: the step cannot be taken there.
std::optional<Optimizer::Waypoint> Optimizer::after(const SimplifyStep& step,
                                                    const Graph& graph) const {
  switch (step.kind) {
  case SimplifyStep::Kind::kDecideChoices: {
    auto decided = decide_choices(graph, step.match.nodes);
    if (!decided) return std::nullopt;
    return Waypoint{*std::move(decided), {}, true, "deciding choices that constants make", true};
  }
  case SimplifyStep::Kind::kMergeDuplicates:
    return Waypoint{
        merge_duplicates(graph, nullptr, !freeze_), {}, true, "merging equal operators"};
  case SimplifyStep::Kind::kRule: {
    const rules::Rule& rule = baseline_.rules()[step.rule];
    auto next = rules::apply(graph, rule, step.match);
    if (!next) return std::nullopt;
    return Waypoint{*std::move(next), {rule.base_name}, true, rule.base_name};
  }
  }
  return std::nullopt;
}

/// The original first, the result last.
std::vector<Optimizer::Waypoint> Optimizer::waypoints() const {
  std::vector<Waypoint> way{{original_, {}, true, "reading and writing the model"}};
  Graph graph = original_;
  for (const SimplifyStep& step : report_.simplify.steps) {
    auto next = after(step, graph);
    if (!next) break;  // what is left is found as a whole
    graph = next->graph;
    way.push_back(*std::move(next));
  }
  if (!chosen_) return way;
  for_each_graph(report_.baseline, rules_.rules(), report_.steps,
                 [&](const Step& step, const Graph& rewritten) {
                   const auto names = step.lemma ? names_of(*step.lemma, rules_.rules())
                                                 : std::vector{step.base_rule};
                   way.push_back({rewritten, names, false, step.base_rule});
                   return true;
                 });
  way.push_back({report_.graph, {}, false, "merging equal operators"});
  return way;
}

Result<bool> Optimizer::differs(const Graph& graph) {
  const int sample = difference_->difference.sample;
  switch (difference_->by) {
  case Found::By::kJudge:
    return judgment_->differs_on(graph, sample);
  case Found::By::kSpread:
    return spread_->differs_on(graph, sample);
  case Found::By::kCheck:
    return check_->differs_on(graph, sample);
  }
  return false;
}

std::string Optimizer::finder() const {
  switch (difference_->by) {
  case Found::By::kJudge:
    return judgment_->judge().runtime();
  case Found::By::kSpread:
    return "the check of how far NaN and infinities reach";
  case Found::By::kCheck:
    return "the check here";
  }
  return {};
}

/// The first waypoint of a pair of neighbors of which the earlier one does not differ. 0: nothing
/// explains it. Behind an interrupt it may be any. Complexity: logarithmic.
Result<std::size_t> Optimizer::first_difference(const std::vector<Waypoint>& way) {
  SOAPSTONE_ASSIGN_OR_RETURN(const bool at_once, differs(way.front().graph));
  if (at_once) return std::size_t{0};
  std::size_t equal = 0, different = way.size() - 1;
  while (different - equal > 1 && !interrupted()) {
    const std::size_t middle = equal + (different - equal) / 2;
    SOAPSTONE_ASSIGN_OR_RETURN(const bool there, differs(way[middle].graph));
    (there ? different : equal) = middle;
  }
  return different;
}

/// Behind an interrupt nobody waits for the rule that makes the difference: the next best result
/// is checked in place of this one, and in the end the original is the result.
core::Status Optimizer::leave_out_result() {
  report_.notes.push_back(fmt::format("a result was left out, since on {} it {}: an interrupt came "
                                      "before its rule was looked for",
                                      difference_->difference.input, difference_->difference.what));
  difference_.reset();
  report_.equivalence.reset();
  report_.judge.reset();
  report_.speedup.reset();
  if (!chosen_) {
    report_.result = ResultKind::kOriginal;
    return core::Done{};
  }
  auto& best = report_.search.best;
  best.erase(best.begin() + static_cast<std::ptrdiff_t>(*chosen_));
  chosen_.reset();
  // What the search has found behind forms has steps that do not begin at the baseline.
  if (!best.empty() && start_.steps.empty())
    chosen_ = objective_.needs_memory() ? choose_by_objective({}) : 0;
  SOAPSTONE_RETURN_IF_ERROR(take_choice());
  return verify();
}

/// True: a rule was taken out, and the search is to be made again.
Result<bool> Optimizer::take_out_offender(int round) {
  const bool is_spread = difference_->by == Found::By::kSpread;
  const Outcome outcome = std::exchange(report_.outcome, Outcome::kNotEquivalent);
  report_.offending_rule = "a rule that was not looked for: interrupted";
  if (interrupted()) return false;
  progress_.stage("looking for the rule that makes the difference");
  const std::vector<Waypoint> way = waypoints();
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t at, first_difference(way));
  if (interrupted()) {
    report_.outcome = outcome;
    report_.offending_rule.clear();
    while (difference_) SOAPSTONE_RETURN_IF_ERROR(leave_out_result());
    return false;
  }
  const Waypoint& culprit = way[at];
  report_.offending_rule = culprit.what;
  if (is_spread && culprit.rules.empty()) {  // The numbers are the same: no reason to give up.
    report_.outcome = outcome;
    report_.offending_rule.clear();
    report_.notes.push_back(fmt::format("with {}, {}: {}", difference_->difference.input,
                                        difference_->difference.output,
                                        difference_->difference.what));
    return false;
  }
  if (is_spread && round > kMostSpreadRounds) {
    take_out_all_that_spread();
    return true;
  }
  if (culprit.decides && round < kMostRounds) {
    decides_ = false;
    memory_.forget(rules_);
    return true;
  }
  if (culprit.rules.empty() || round >= kMostRounds) return false;
  for (const std::string& rule : culprit.rules) take_out(rule, culprit.is_baseline);
  memory_.forget(rules_);
  return true;
}

void Optimizer::take_out(const std::string& rule, bool is_baseline) {
  (is_baseline ? baseline_ : rules_).exclude(rule);
  report_.taken_out.push_back({rule, is_baseline, finder(), difference_->difference});
}

/// Each rule on the way to the result that may make NaN or an infinity of numbers.
void Optimizer::take_out_all_that_spread() {
  std::set<std::pair<std::string, bool>> all;
  for_each_use([&](verifier::Admission& rules, core::RuleId id, const rules::Match&) {
    if (may_spread(rules.rules()[id]))
      all.emplace(rules.rules()[id].base_name, &rules == &baseline_);
  });
  for (const auto& [rule, is_baseline] : all) take_out(rule, is_baseline);
  memory_.forget(rules_);
}

}  // namespace soapstone::search
