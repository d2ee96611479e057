// The stages of an optimization, in the order in which a reader of the report meets them.
#include "search/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
  SOAPSTONE_ASSIGN_OR_RETURN(report_.baseline,
                             simplify(original_, baseline_, &report_.simplify, stop_, !freeze_,
                                      options_.search.surroundings));
  SOAPSTONE_RETURN_IF_ERROR(keep_weights_small());
  if (clock_) SOAPSTONE_RETURN_IF_ERROR(try_baseline());
  start_ = {report_.baseline, {}, {}};
  if (clock_) {
    report_.trials.emplace().runtime = clock_->runtime();
    add_forms(options_.trials.forms, start_);
  }
  const bool has_gain = !start_.steps.empty() ||
                        (report_.baseline_speedup && report_.baseline_speedup->low > 1);
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
  report_.search = search(start_.graph, rules_, cost_, options, progress_, stop_);
  for (const std::string& form : forms) rules_.readmit(form);
  if (options.checkpoint != nullptr) SOAPSTONE_RETURN_IF_ERROR(options.checkpoint->write());
  merge_in_results();
  drop_unwritable();
  // The search begins behind the forms, which the baseline does not have.
  report_.cost_before =
      start_.steps.empty() ? report_.search.cost_before : cost_.graph_cost(report_.baseline);
  report_.objective = options_.objective;
  report_.peak_limit_bytes = options_.peak_limit_bytes;
  report_.memory_before = runtime::memory_use(report_.baseline, timing_, options_.fusion);
  return core::Done{};
}

/// Leaves out the rules of the baseline behind which the weights are larger than they may be.
core::Status Optimizer::keep_weights_small() {
  const WeightLimit& limit = objective_.weight_limit();
  while (!limit.allows(report_.baseline) && !interrupted()) {
    const std::vector<Waypoint> way = waypoints();
    std::size_t at = way.size() - 1;
    while (at > 1 && !limit.allows(way[at - 1].graph)) --at;
    const Waypoint& culprit = way[at];
    if (culprit.rules.empty()) {  // Equal operators were merged: nothing else can be left out.
      report_.baseline = original_;
      report_.simplify = {};
      break;
    }
    const std::string& rule = culprit.rules.front();
    baseline_.exclude(rule);
    weights_notes_.push_back(
        fmt::format("the baseline's rule {} is left out: weights would grow", rule));
    report_.simplify = {};
    SOAPSTONE_ASSIGN_OR_RETURN(report_.baseline,
                               simplify(original_, baseline_, &report_.simplify, stop_, !freeze_,
                                        options_.search.surroundings));
  }
  return core::Done{};
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
  std::ranges::copy(weights_notes_, std::back_inserter(report_.notes));
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
