// The stages of an optimization, in the order in which a reader of the report meets them.
#include "search/optimize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "search/base/trace.h"
#include "search/equivalence/opaque.h"
#include "search/equivalence/sample_inputs.h"
#include "search/optimizer.h"
#include "search/passes/checkpoint.h"

namespace soapstone::search {

using core::Graph;
using core::Result;

core::Status Optimizer::search_graphs() {
  progress_.stage("simplifying");
  SOAPSTONE_RETURN_IF_ERROR(simplify_original());
  SOAPSTONE_RETURN_IF_ERROR(leave_out_of_baseline(
      [&](std::size_t, const Waypoint& at) { return objective_.weight_limit().allows(at.graph); },
      "weights would grow"));
  SOAPSTONE_RETURN_IF_ERROR(keep_sizes_open());
  if (clock_) SOAPSTONE_RETURN_IF_ERROR(try_baseline());
  start_ = {report_.baseline, {}, {}};
  if (clock_) {
    report_.trials.emplace().runtime = clock_->runtime();
    if (!closes_always_) add_forms(options_.trials.forms, start_);
  }
  const bool has_gain =
      !start_.steps.empty() || (report_.baseline_speedup && report_.baseline_speedup->low > 1);
  if (has_gain && options_.search.found_gain) options_.search.found_gain();
  SearchOptions options = options_.search;
  options.objective = &objective_;
  options.behind_opaque = !freeze_;
  options.memory = &memory_;
  if (options.trace != nullptr) options.trace->simplified(report_.simplify, report_.baseline);
  // In a later round the checkpoint is open, and what it knows is admitted anew.
  if (options.checkpoint != nullptr && report_.taken_out.empty()) {
    SOAPSTONE_RETURN_IF_ERROR(options.checkpoint->open(
        identity_of(original_, rules_.rules(), cost_, options_.fusion, options), rules_.rules()));
  }
  progress_.stage("searching");
  std::vector<std::string> forms = in_use(options_.trials.forms);
  std::ranges::move(in_use(options_.trials.last_forms), std::back_inserter(forms));
  for (const std::string& form : forms) rules_.exclude(form);
  if (closes_always_)
    report_.search.cost_before = cost_.graph_cost(report_.baseline);
  else
    report_.search = search(start_.graph, rules_, cost_, options, progress_, stop_);
  for (const std::string& form : forms) rules_.readmit(form);
  if (options.checkpoint != nullptr) SOAPSTONE_RETURN_IF_ERROR(options.checkpoint->write());
  merge_in_results();
  drop_unwritable();
  leave_out_closing();
  // The search begins behind the forms, which the baseline does not have.
  report_.cost_before =
      start_.steps.empty() ? report_.search.cost_before : cost_.graph_cost(report_.baseline);
  report_.objective = options_.objective;
  report_.peak_limit_bytes = options_.peak_limit_bytes;
  report_.memory_before = runtime::memory_use(report_.baseline, timing_, options_.fusion);
  return core::Done{};
}

core::Status Optimizer::simplify_original() {
  report_.simplify = {};
  SOAPSTONE_ASSIGN_OR_RETURN(report_.baseline, simplify(original_, baseline_, &report_.simplify,
                                                        stop_, simplify_options()));
  return core::Done{};
}

SimplifyOptions Optimizer::simplify_options() const {
  return {.behind_opaque = !freeze_,
          .decides = decides_,
          .may_vary = options_.may_vary,
          .surroundings = options_.search.surroundings};
}

/// Leaves out rules of the baseline until what it makes is allowed. `allows` is asked of graphs on
/// the way there and told how many steps lead to them.
core::Status
Optimizer::leave_out_of_baseline(const std::function<bool(std::size_t, const Waypoint&)>& allows,
                                 std::string_view why) {
  while (!interrupted() && !report_.simplify.steps.empty()) {
    const std::vector<Waypoint> way = waypoints();
    std::size_t allowed = 0, refused = way.size() - 1;
    if (allows(refused, way[refused])) break;
    while (refused - allowed > 1) {
      const std::size_t middle = allowed + (refused - allowed) / 2;
      (allows(middle, way[middle]) ? allowed : refused) = middle;
    }
    const Waypoint& culprit = way[refused];
    if (culprit.decides) {
      decides_ = false;
      left_out_notes_.push_back(
          fmt::format("choices that constants decide stay as they are: {}", why));
      SOAPSTONE_RETURN_IF_ERROR(simplify_original());
      continue;
    }
    if (culprit.rules.empty()) {  // Equal operators were merged: nothing else can be left out.
      report_.baseline = original_;
      report_.simplify = {};
      break;
    }
    const std::string& rule = culprit.rules.front();
    baseline_.exclude(rule);
    left_out_notes_.push_back(fmt::format("the baseline's rule {} is left out: {}", rule, why));
    SOAPSTONE_RETURN_IF_ERROR(simplify_original());
  }
  return core::Done{};
}

/// Leaves out the rules of the baseline that close sizes.
core::Status Optimizer::keep_sizes_open() {
  closes_always_ = false;
  if (!options_.closed_sizes || interrupted()) return core::Done{};
  const auto all = report_.simplify.steps.size();
  if (options_.closed_sizes(report_.baseline, chain_of_baseline(all)).empty()) return core::Done{};
  const auto closed = options_.closed_sizes(original_, chain_of_baseline(0));
  if (!closed.empty()) {
    closes_always_ = true;
    report_.notes.push_back(
        fmt::format("no file but the model's own leaves open, as the model does, {}; --fix-shapes "
                    "optimizes for the sizes given",
                    fmt::join(closed, ", ")));
    report_.baseline = original_;
    report_.simplify = {};
    return core::Done{};
  }
  return leave_out_of_baseline(
      [&](std::size_t steps, const Waypoint& at) {
        return options_.closed_sizes(at.graph, chain_of_baseline(steps)).empty();
      },
      "this holds only at some sizes (--fix-shapes allows it)");
}

/// `steps` lead from the baseline.
bool Optimizer::closes_sizes(const Graph& graph, const std::vector<Step>& steps) const {
  return options_.closed_sizes && !options_.closed_sizes(graph, chain_of(graph, steps)).empty();
}

/// The candidate without the sites that close sizes which the model leaves open. `left_out` gets
/// the names of their rules.
Candidate Optimizer::left_open(const Candidate& candidate, std::set<std::string>& left_out) {
  constexpr int kMostLeftOut = 8;
  const SiteReplay replay(start_.graph, candidate.steps, rules_);
  std::vector<bool> chosen(replay.sites(), true);
  const auto first = [&](std::size_t count) {
    std::vector<bool> some = chosen;
    std::fill(some.begin() + static_cast<std::ptrdiff_t>(count), some.end(), false);
    Replayed replayed = replay.with(std::move(some));
    const ObjectiveStage stage{.lower_peak = objective_.needs_memory()};
    auto settled = objective_.settle(merge_duplicates(replayed.graph, nullptr, !freeze_), stage);
    return Candidate{std::move(settled.graph), settled.score.latency_us, std::move(replayed.steps),
                     settled.score};
  };
  const auto is_open = [&](const Candidate& some) {
    std::vector<Step> steps = start_.steps;
    append_steps(steps, some.steps);
    return !closes_sizes(some.graph, steps);
  };
  Candidate left = candidate;
  if (!is_open(left))
    if (Candidate none = first(0); !is_open(none)) return none;
  const auto is_chosen = [](bool site) { return site; };
  for (int k = 0; !is_open(left) && !interrupted(); ++k) {
    if (std::ranges::none_of(chosen, is_chosen)) break;
    std::size_t open = 0, closed = replay.sites();
    while (closed - open > 1) {
      const std::size_t middle = open + (closed - open) / 2;
      (is_open(first(middle)) ? open : closed) = middle;
    }
    for (const Step& step : replay.steps())
      if (step.site + 1 == closed) left_out.insert(step.base_rule);
    // Behind too many of them nothing else is tried.
    if (k < kMostLeftOut)
      chosen[closed - 1] = false;
    else
      std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(open), chosen.end(), false);
    left = first(replay.sites());
  }
  return left;
}

/// Results keep the sizes open that the model leaves open: what holds only at some is left out.
void Optimizer::leave_out_closing() {
  auto& best = report_.search.best;
  if (!options_.closed_sizes || best.empty() || interrupted()) return;
  progress_.stage("trying other sizes");
  // With a clock only the best is looked at again.
  if (clock_) best.erase(best.begin() + 1, best.end());
  std::set<std::string> rules;
  for (Candidate& candidate : best) candidate = left_open(candidate, rules);
  // Forms with which the search begins may close sizes alone.
  std::erase_if(best, [&](const Candidate& candidate) {
    return candidate.steps.empty() && closes_sizes(candidate.graph, start_.steps);
  });
  if (!rules.empty())
    report_.notes.push_back(fmt::format("changes that hold only at some sizes were left out, by {} "
                                        "(--fix-shapes allows them)",
                                        fmt::join(rules, ", ")));
  const Score before = objective_.score(start_.graph, ObjectiveStage{});
  std::erase_if(best, [&](const Candidate& candidate) {
    return !objective_.is_better(candidate.score, before);
  });
  std::ranges::stable_sort(
      best, [&](const Score& a, const Score& b) { return objective_.is_better(a, b); },
      &Candidate::score);
}

/// Rules that are for trials alone, but for those that the checks have found out.
std::vector<std::string> Optimizer::in_use(std::vector<std::string> forms) const {
  std::erase_if(forms, [&](const std::string& form) {
    return std::ranges::any_of(report_.taken_out, [&](const TakenOut& rule) {
      return !rule.is_baseline && rule.rule == form;
    });
  });
  return forms;
}

/// Merges equal nodes in the results: rewrites of one kind that use the same weights compute the
/// same from them. Not where that is worse: a copy may run in a launch with what reads it, and a
/// merged result is kept until it is read last, so memory may have grown.
void Optimizer::merge_in_results() {
  for (Candidate& candidate : report_.search.best) {
    Graph merged = merge_duplicates(candidate.graph, nullptr, !freeze_);
    const Score score = objective_.score(merged, ObjectiveStage{});
    if (objective_.is_better(candidate.score, score)) continue;
    candidate.score = score;
    candidate.cost_us = score.latency_us;
    candidate.graph = std::move(merged);
  }
  std::ranges::stable_sort(
      report_.search.best,
      [&](const Score& a, const Score& b) { return objective_.is_better(a, b); },
      &Candidate::score);
}

core::Error Optimizer::runs_nowhere(const std::string& refusal) const {
  const std::string why =
      options_.opaque_nodes.empty() ? std::string() : options_.opaque_nodes + "; ";
  return core::unsupported(
      fmt::format("no runtime that is here can run the model: {}{}", why, refusal),
      "mend the model, or install a runtime that has its operators, or give `inputs` that it "
      "accepts; `allow_unchecked` optimizes it without ever running it");
}

/// Decides whether nodes behind opaque ones may be rewritten: they may if some runtime can run the
/// whole model, or if the user says so. A model that every runtime refuses is not worth a search.
core::Status Optimizer::look_at_opaque() {
  const std::vector<bool> depends = depends_on_opaque(original_);
  std::size_t opaque = 0, behind = 0;
  for (const core::NodeId id : original_.order()) {
    if (!depends[id.index()]) continue;
    ++(ops::is_opaque(original_.node(id)) ? opaque : behind);
  }
  nodes_behind_opaque_ = behind;
  opaque_nodes_ = opaque;
  if (opaque == 0 || options_.allow_unchecked) return core::Done{};
  if (judgment_) {
    progress_.stage(fmt::format("asking {}", judgment_->judge().runtime()));
    why_frozen_ = judgment_->refusal(stop_);
  } else {
    why_frozen_ = "no independent runtime is there";
  }
  const bool is_refused = judgment_ ? judgment_->refuses_for_good(stop_)
                                    : !options_.runtime_refusal.empty() && can_sample(original_);
  if (!clock_ && is_refused)
    return runs_nowhere(judgment_ ? why_frozen_ : options_.runtime_refusal);
  freeze_ = behind > 0 && !why_frozen_.empty();
  return core::Done{};
}

/// One way from the original to a result that is checked.
core::Status Optimizer::run_round() {
  SOAPSTONE_RETURN_IF_ERROR(search_graphs());
  SOAPSTONE_RETURN_IF_ERROR(choose());
  SOAPSTONE_RETURN_IF_ERROR(verify());
  while (difference_ && interrupted()) SOAPSTONE_RETURN_IF_ERROR(leave_out_result());
  return core::Done{};
}

Result<OptimizeReport> Optimizer::run() {
  SOAPSTONE_RETURN_IF_ERROR(prepare_checks());
  SOAPSTONE_RETURN_IF_ERROR(look_at_opaque());
  for (int round = 1;; ++round) {
    SOAPSTONE_RETURN_IF_ERROR(run_round());
    if (!difference_) break;
    SOAPSTONE_ASSIGN_OR_RETURN(const bool again, take_out_offender(round));
    if (!again) break;
    start_again();
  }
  if (options_.record_chain) record_chain();
  report_.opaque_nodes = opaque_nodes_;
  report_.latitude = latitude();
  note_proofs();
  note_specials();
  note_checks();
  note_interrupt();
  std::ranges::copy(left_out_notes_, std::back_inserter(report_.notes));
  report_.has_limited_weights = objective_.weight_limit().has_refused();
  report_.most_weight_bytes = objective_.weight_limit().most_bytes();
  return std::move(report_);
}

/// A result that was chosen without a clock is called so.
void Optimizer::note_interrupt() {
  if (!interrupted() || report_.outcome == Outcome::kNotEquivalent) return;
  report_.outcome = Outcome::kInterrupted;
  if (report_.result != ResultKind::kOriginal && !report_.is_timed())
    report_.notes.emplace_back(
        "the result was not timed: an interrupt came first, so it is the best by its predicted "
        "cost");
}

/// Keeps what earlier rounds have learned.
void Optimizer::start_again() {
  OptimizeReport fresh;
  fresh.taken_out = std::move(report_.taken_out);
  report_ = std::move(fresh);
  chosen_.reset();
  difference_.reset();
}

Result<OptimizeReport> optimize(const Graph& original, verifier::Admission& baseline,
                                verifier::Admission& rules, cost::CostModel& cost,
                                runtime::Backend& backend, const OptimizeOptions& options,
                                core::ProgressSink& progress, const core::StopToken& stop) {
  return Optimizer(original, baseline, rules, cost, backend, options, progress, stop).run();
}

}  // namespace soapstone::search
