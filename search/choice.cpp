// Chooses the result among the graphs that were found, by the objective and by measured time.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/composites/composite.h"
#include "search/base/real_gain.h"
#include "search/equivalence/cut.h"
#include "search/optimizer.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Result;
using runtime::Executable;

/// Nodes that do work when the model runs.
std::size_t count_nodes(const Graph& graph) {
  return static_cast<std::size_t>(
      std::count_if(graph.order().begin(), graph.order().end(),
                    [&](core::NodeId id) { return !graph.is_constant_expression(id); }));
}

Result<Executable> executable_of(const Graph& graph, runtime::Backend& backend,
                                 runtime::Fusion fusion) {
  SOAPSTONE_ASSIGN_OR_RETURN(const CutGraph cut, cut_at_opaque(graph));
  SOAPSTONE_ASSIGN_OR_RETURN(auto executable, Executable::make(cut.graph, backend, {fusion}));
  // Timing runs on the inputs of the last run. If an index that comes out of arithmetic is out of
  // range on ordinary inputs, zeros are used.
  for (const SampleKind kind : {SampleKind::kNormal, SampleKind::kZero}) {
    const auto outputs = executable.run(sample_inputs(cut.graph, kind, 0));
    if (outputs) break;
    if (outputs.error().code != core::ErrorCode::kInvalidInput) return outputs.error();
  }
  return executable;
}

bool is_proved(const Step& step, const verifier::Admission& rules) {
  if (!step.lemma) return rules.is_proved(step.id);
  return std::ranges::all_of(step.lemma->steps,
                             [&](const LemmaStep& used) { return rules.is_proved(used.rule); });
}

std::vector<RuleUse> summarize(const std::vector<Step>& steps, const verifier::Admission& rules) {
  std::vector<RuleUse> uses;
  for (const Step& step : steps) {
    const std::string& name = step.base_rule;
    auto use =
        std::find_if(uses.begin(), uses.end(), [&](const RuleUse& u) { return u.rule == name; });
    if (use == uses.end()) use = uses.insert(uses.end(), RuleUse{name, 0, 0, true});
    ++use->count;
    use->gain_us += step.gain_us;
    use->proved = use->proved && is_proved(step, rules);
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const RuleUse& a, const RuleUse& b) { return a.gain_us > b.gain_us; });
  return uses;
}

}  // namespace

/// Drops candidates that the file's opset cannot express. The others remain, so the search is not
/// lost.
void Optimizer::drop_unwritable() {
  if (!options_.writable) return;
  auto& best = report_.search.best;
  for (auto candidate = best.begin(); candidate != best.end();) {
    const core::Status writable = options_.writable(candidate->graph);
    if (writable) {
      ++candidate;
      continue;
    }
    std::string rule = "merging equal nodes";
    for_each_graph(start_.graph, rules_.rules(), candidate->steps,
                   [&](const Step& step, const Graph& graph) {
                     const bool still = options_.writable(graph).ok();
                     if (!still) rule = step.base_rule;
                     return still;
                   });
    report_.notes.push_back(
        fmt::format("a result was left out, after {}: {}", rule, writable.error().to_string()));
    candidate = best.erase(candidate);
  }
}

void Optimizer::note_reference_kernels(const Executable& executable) {
  const auto& slow = executable.report().reference_kernels;
  if (slow.empty()) return;
  report_.notes.push_back(fmt::format("{} launches run the slow reference kernel, first {}: {}",
                                      slow.size(), slow.front().first, slow.front().second));
}

/// With memory in the objective: the best by what is foretold, but of those within a limit the
/// fastest; `timings`, if any, are of the baseline and of each candidate. None: the baseline is as
/// good.
std::optional<std::size_t>
Optimizer::choose_by_objective(std::span<const cost::Timing> timings) const {
  const auto& best = report_.search.best;
  const Score before{report_.cost_before.total_us, report_.memory_before.peak_bytes, 0, 0, 0};
  if (best.empty() || !objective_.is_better(best.front().score, before)) return std::nullopt;
  const auto fits = [&](const Candidate& candidate) {
    return options_.objective == ObjectiveKind::kLatencyUnderMemory &&
           candidate.score.peak_bytes <= options_.peak_limit_bytes;
  };
  std::size_t winner = 0;
  for (std::size_t k = 1; k < best.size() && !timings.empty(); ++k)
    if (fits(best[k]) && timings[k + 1].median_us < timings[winner + 1].median_us) winner = k;
  return winner;
}

/// Whether a result that is not faster is none: unless memory is what was asked for, or what the
/// baseline has too little of.
bool Optimizer::has_to_be_faster() const {
  return options_.objective == ObjectiveKind::kLatency ||
         (options_.objective == ObjectiveKind::kLatencyUnderMemory &&
          report_.memory_before.peak_bytes <= options_.peak_limit_bytes);
}

/// Times the baseline and every candidate in turn, then the baseline and the winner in pairs.
/// Decides nothing if it is interrupted.
core::Status Optimizer::choose_by_time() {
  progress_.stage("timing");
  SOAPSTONE_ASSIGN_OR_RETURN(auto before,
                             executable_of(report_.baseline, timing_, options_.fusion));
  note_reference_kernels(before);
  const auto& best = report_.search.best;
  std::vector<Executable> candidates;
  std::vector<Executable*> in_turn{&before};
  for (const Candidate& candidate : best) {
    if (interrupted()) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(auto executable,
                               executable_of(candidate.graph, timing_, options_.fusion));
    candidates.push_back(std::move(executable));
  }
  for (Executable& executable : candidates) in_turn.push_back(&executable);
  // The baseline alone is timed for the report.
  const double budget_us = (best.empty() ? 0.2 : 1.0) * options_.measure_time_s * 1e6;
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto timings,
      cost::time_in_turn(in_turn, options_.measure_rounds, 0.5 * budget_us, stop_));
  if (interrupted()) return core::Done{};
  report_.latency_before = Latency{timings[0], before.report().arena_bytes};
  report_.latency_after = report_.latency_before;
  if (best.empty()) return core::Done{};
  const auto fastest = std::min_element(
      timings.begin() + 1, timings.end(),
      [](const cost::Timing& a, const cost::Timing& b) { return a.median_us < b.median_us; });
  auto winner = static_cast<std::size_t>(fastest - timings.begin() - 1);
  if (objective_.needs_memory()) {
    const auto allowed = choose_by_objective(timings);
    if (!allowed) return core::Done{};
    winner = *allowed;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto speedup, cost::compare_in_turn(before, candidates[winner],
                                                                       options_.measure_rounds,
                                                                       0.5 * budget_us, stop_));
  if (interrupted()) return core::Done{};
  report_.speedup = speedup;
  if (has_to_be_faster() && speedup.low <= 1.0) {
    report_.outcome = Outcome::kGainNotReal;
    return core::Done{};
  }
  chosen_ = winner;
  report_.outcome = Outcome::kImproved;
  report_.latency_after = Latency{timings[winner + 1], candidates[winner].report().arena_bytes};
  return core::Done{};
}

/// With nothing better, the baseline is the result if it beats the model as it was given: when
/// timed, or by its cost if an interrupt came first.
core::Status Optimizer::compare_baseline() {
  if (original_.hash() == report_.baseline.hash()) return core::Done{};
  if (options_.writable) {
    if (const core::Status writable = options_.writable(report_.baseline); !writable) {
      report_.notes.push_back(fmt::format("what the baseline made of the model was left out: {}",
                                          writable.error().to_string()));
      return core::Done{};
    }
  }
  const double before_us = cost_.graph_cost(original_).total_us;
  report_.baseline_gain = before_us / report_.cost_before.total_us;
  bool faster = report_.cost_before.total_us < kRealGain * before_us;
  if (clock_ && (report_.baseline_speedup || !interrupted())) {
    faster = report_.baseline_speedup && report_.baseline_speedup->low > 1;
  } else if (may_time_here()) {
    progress_.stage("timing the baseline");
    SOAPSTONE_ASSIGN_OR_RETURN(auto before, executable_of(original_, timing_, options_.fusion));
    SOAPSTONE_ASSIGN_OR_RETURN(auto after,
                               executable_of(report_.baseline, timing_, options_.fusion));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto speedup,
                               cost::compare_in_turn(before, after, options_.measure_rounds,
                                                     0.5e6 * options_.measure_time_s, stop_));
    if (!interrupted()) {
      report_.baseline_speedup = speedup;
      faster = speedup.low > 1;
    }
  }
  if (!faster) return core::Done{};
  report_.result = ResultKind::kBaseline;
  if (baseline_times_) {
    report_.latency_before = Latency{baseline_times_->a, 0};
    report_.latency_after = Latency{baseline_times_->b, 0};
  }
  return core::Done{};
}

core::Status Optimizer::choose() {
  if (clock_) {
    choose_by_trials();
  } else if (may_time_here()) {
    SOAPSTONE_RETURN_IF_ERROR(choose_by_time());
  }
  const bool timed = report_.speedup.has_value() || report_.trials;
  if (!timed && !report_.search.best.empty()) {
    chosen_ = objective_.needs_memory() ? choose_by_objective({}) : 0;
    if (chosen_) report_.outcome = Outcome::kImproved;
  }
  return take_choice();
}

/// Makes the chosen candidate the result.
core::Status Optimizer::take_choice() {
  report_.graph = chosen_ ? chosen().graph : report_.baseline;
  // Our executor has no kernels for composite operators, but for what they stand for.
  const core::Graph run_here = ops::expanded(report_.graph);
  // A cost that learns may say something else of the baseline now.
  report_.cost_after = chosen_ ? cost_.graph_cost(run_here) : report_.cost_before;
  report_.memory_after = runtime::memory_use(run_here, timing_, options_.fusion);
  report_.nodes_before = count_nodes(report_.baseline);
  report_.nodes_after = count_nodes(report_.graph);
  report_.result = ResultKind::kOriginal;
  report_.steps.clear();
  report_.rules_applied.clear();
  if (!chosen_) return compare_baseline();
  report_.result = ResultKind::kRewritten;
  report_.steps = chosen().steps;
  report_.rules_applied = summarize(report_.steps, rules_);
  return core::Done{};
}

}  // namespace soapstone::search
