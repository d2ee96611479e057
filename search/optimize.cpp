// The stages of an optimization, in the order in which a reader of the report meets them.
#include "search/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "search/checkpoint.h"
#include "search/cut.h"
#include "search/real_gain.h"
#include "search/trace.h"

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
  // Timing runs on the inputs of the last run.
  SOAPSTONE_ASSIGN_OR_RETURN(auto outputs,
                             executable.run(sample_inputs(cut.graph, SampleKind::kNormal, 0)));
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

/// Rules as written, not instances.
std::size_t count_unproved(const verifier::Admission& admission) {
  std::set<std::string> names;
  const auto all = admission.rules().rules();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!admission.is_proved(core::RuleId(k))) names.insert(all[k].base_name);
  return names.size();
}

class Optimizer {
 public:
  Optimizer(const Graph& original, verifier::Admission& baseline, verifier::Admission& rules,
            cost::CostModel& cost, runtime::Backend& backend, const OptimizeOptions& options,
            core::ProgressSink& progress, const core::StopToken& stop)
      : original_(original), baseline_(baseline), rules_(rules), cost_(cost), backend_(backend),
        options_(options), progress_(progress), stop_(stop),
        objective_(options.objective, options.peak_limit_bytes, cost, backend, options.fusion) {}

  Result<OptimizeReport> run();

 private:
  core::Status search_graphs();
  core::Status choose();
  core::Status choose_by_time();
  std::optional<std::size_t> choose_by_objective(std::span<const cost::Timing> timings) const;
  void merge_in_results();
  void drop_unwritable();
  core::Status compare_baseline();
  void record_chain();
  void note_proofs();
  core::Status verify();
  Result<std::string> find_offender();
  void note_reference_kernels(const Executable& executable);
  const Candidate& chosen() const { return report_.search.best[*chosen_]; }
  bool interrupted() const { return stop_.stop_requested(); }

  const Graph& original_;
  verifier::Admission& baseline_;
  verifier::Admission& rules_;
  cost::CostModel& cost_;
  runtime::Backend& backend_;
  const OptimizeOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  Objective objective_;
  OptimizeReport report_;
  std::optional<std::size_t> chosen_;  ///< Into report_.search.best; none: keep the original.
};

core::Status Optimizer::search_graphs() {
  progress_.stage("simplifying");
  report_.baseline = simplify(original_, baseline_, &report_.simplify, stop_);
  SearchOptions options = options_.search;
  options.objective = &objective_;
  if (options.trace != nullptr) options.trace->simplified(report_.simplify, report_.baseline);
  if (options.checkpoint != nullptr) {
    SOAPSTONE_RETURN_IF_ERROR(options.checkpoint->open(
        identity_of(report_.baseline, rules_.rules(), cost_, options_.fusion, options),
        rules_.rules()));
  }
  progress_.stage("searching");
  report_.search = search(report_.baseline, rules_, cost_, options, progress_, stop_);
  if (options.checkpoint != nullptr) SOAPSTONE_RETURN_IF_ERROR(options.checkpoint->write());
  merge_in_results();
  drop_unwritable();
  report_.cost_before = report_.search.cost_before;
  report_.objective = options_.objective;
  report_.peak_limit_bytes = options_.peak_limit_bytes;
  report_.memory_before = runtime::memory_use(report_.baseline, backend_, options_.fusion);
  return core::Done{};
}

/// Where the same weights are used several times, rewrites alike compute the same from them.
void Optimizer::merge_in_results() {
  for (Candidate& candidate : report_.search.best) {
    Graph merged = merge_duplicates(candidate.graph);
    if (objective_.needs_memory()) {
      // What is computed once is kept until it is read last.
      const Score score = objective_.score(merged, Stage{});
      if (objective_.is_better(candidate.score, score)) continue;
      candidate.score = score;
      candidate.cost_us = score.latency_us;
    }
    candidate.graph = std::move(merged);
  }
}

/// What the file's opset cannot say is no result. The search is not lost for it: others may be.
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
    for_each_graph(report_.baseline, rules_.rules(), candidate->steps,
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

/// Times the baseline and every candidate in turn, then the baseline and the winner in pairs.
/// Decides nothing if it is interrupted.
core::Status Optimizer::choose_by_time() {
  progress_.stage("timing");
  SOAPSTONE_ASSIGN_OR_RETURN(auto before,
                             executable_of(report_.baseline, backend_, options_.fusion));
  note_reference_kernels(before);
  const auto& best = report_.search.best;
  std::vector<Executable> candidates;
  std::vector<Executable*> in_turn{&before};
  for (const Candidate& candidate : best) {
    if (interrupted()) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(auto executable,
                               executable_of(candidate.graph, backend_, options_.fusion));
    candidates.push_back(std::move(executable));
  }
  for (Executable& executable : candidates) in_turn.push_back(&executable);
  // The baseline alone is timed for the report.
  const double budget_us = (best.empty() ? 0.2 : 1.0) * options_.measure_time_s * 1e6;
  const auto timings = cost::time_in_turn(in_turn, options_.measure_rounds, 0.5 * budget_us, stop_);
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
  const auto speedup = cost::compare_in_turn(before, candidates[winner], options_.measure_rounds,
                                             0.5 * budget_us, stop_);
  if (interrupted()) return core::Done{};
  report_.speedup = speedup;
  const bool for_speed = options_.objective == ObjectiveKind::kLatency ||
                         (options_.objective == ObjectiveKind::kLatencyUnderMemory &&
                          report_.memory_before.peak_bytes <= options_.peak_limit_bytes);
  if (for_speed && speedup.low <= 1.0) {
    report_.outcome = Outcome::kGainNotReal;
    return core::Done{};
  }
  chosen_ = winner;
  report_.outcome = Outcome::kImproved;
  report_.latency_after = Latency{timings[winner + 1], candidates[winner].report().arena_bytes};
  return core::Done{};
}

/// With nothing better, the baseline is the result if it beats the model as it was given.
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
  if (options_.measure && !interrupted()) {
    progress_.stage("timing the baseline");
    SOAPSTONE_ASSIGN_OR_RETURN(auto before, executable_of(original_, backend_, options_.fusion));
    SOAPSTONE_ASSIGN_OR_RETURN(auto after,
                               executable_of(report_.baseline, backend_, options_.fusion));
    const auto speedup = cost::compare_in_turn(before, after, options_.measure_rounds,
                                               0.5e6 * options_.measure_time_s, stop_);
    if (!interrupted()) {
      report_.baseline_speedup = speedup;
      faster = speedup.low > 1;
    }
  }
  if (faster) report_.result = ResultKind::kBaseline;
  return core::Done{};
}

core::Status Optimizer::choose() {
  if (options_.measure && !interrupted()) SOAPSTONE_RETURN_IF_ERROR(choose_by_time());
  const bool timed = report_.speedup.has_value();
  if (!timed && !report_.search.best.empty()) {
    chosen_ = objective_.needs_memory() ? choose_by_objective({}) : 0;
    if (chosen_) report_.outcome = Outcome::kImproved;
  }
  report_.graph = chosen_ ? chosen().graph : report_.baseline;
  report_.cost_after = cost_.graph_cost(report_.graph);
  report_.memory_after = runtime::memory_use(report_.graph, backend_, options_.fusion);
  report_.nodes_before = count_nodes(report_.baseline);
  report_.nodes_after = count_nodes(report_.graph);
  if (!chosen_) return compare_baseline();
  report_.result = ResultKind::kRewritten;
  report_.steps = chosen().steps;
  report_.rules_applied = summarize(report_.steps, rules_);
  return core::Done{};
}

void Optimizer::record_chain() {
  ProofChain& chain = report_.chain;
  chain.input = original_.hash();
  for (const SimplifyStep& step : report_.simplify.steps) {
    if (step.rule) {
      chain.add_rule(baseline_.rules()[*step.rule], step.match, step.hash);
    } else {
      chain.add(ChainStep::Kind::kMergeDuplicates, step.hash);
    }
  }
  if (!chosen_) return;
  for_each_graph(report_.baseline, rules_.rules(), report_.steps,
                 [&](const Step& step, const Graph& graph) {
                   if (step.lemma) {
                     chain.add_lemma(*step.lemma, rules_.rules(), step.match, graph.hash());
                   } else {
                     chain.add_rule(rules_.rules()[step.id], step.match, graph.hash());
                   }
                   return true;
                 });
  if (chain.steps.empty() || chain.steps.back().result != report_.graph.hash())
    chain.add(ChainStep::Kind::kMergeDuplicates, report_.graph.hash());
}

/// What a reader should know of rules without proofs, and of proofs that were not found.
void Optimizer::note_proofs() {
  std::set<std::string> applied;
  for (const SimplifyStep& step : report_.simplify.steps)
    if (step.rule && !baseline_.is_proved(*step.rule))
      applied.insert(baseline_.rules()[*step.rule].base_name);
  if (chosen_) {
    for (const Step& step : chosen().steps) {
      if (!step.lemma && !rules_.is_proved(step.id)) applied.insert(step.base_rule);
      if (!step.lemma) continue;
      for (const LemmaStep& used : step.lemma->steps)
        if (!rules_.is_proved(used.rule)) applied.insert(rules_.rules()[used.rule].base_name);
    }
  }
  report_.unproved_rules_applied.assign(applied.begin(), applied.end());
  for (const verifier::Admission* admission : {&baseline_, &rules_}) {
    report_.unproved_rules += count_unproved(*admission);
    report_.proofs_tried += admission->proofs_tried();
    report_.proof_cpu_s += 1e-3 * admission->cpu_ms();
    for (const auto& refusal : admission->refusals())
      report_.notes.push_back(
          fmt::format("{} was not used with {}: {}", refusal.rule, refusal.values, refusal.reason));
  }
}

/// The first rewrite after which the results differ from the original's.
Result<std::string> Optimizer::find_offender() {
  const auto differs = [&](const Graph& graph) -> Result<bool> {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto report,
                               check_equivalence(original_, graph, backend_, *options_.verify,
                                                 core::silent(), core::StopToken{}));
    return !report.equal;
  };
  if (interrupted()) return std::string("a rule that was not looked for: interrupted");
  SOAPSTONE_ASSIGN_OR_RETURN(const bool baseline_differs, differs(report_.baseline));
  if (baseline_differs) {
    std::string rules;
    for (const auto& [name, count] : report_.simplify.rules_applied) {
      rules += fmt::format("{}{}", rules.empty() ? "" : ", ", name);
    }
    return fmt::format("one of the baseline's: {}", rules);
  }
  Result<std::string> offender = std::string("no single rule: rounding adds up over all of them");
  if (!chosen_) return offender;
  for_each_graph(report_.baseline, rules_.rules(), report_.steps,
                 [&](const Step& step, const Graph& graph) {
                   const auto step_differs = differs(graph);
                   if (!step_differs) {
                     offender = step_differs.error();
                   } else if (*step_differs) {
                     offender = step.base_rule;
                   }
                   return step_differs.ok() && !*step_differs;
                 });
  return offender;
}

core::Status Optimizer::verify() {
  if (!options_.verify || report_.result == ResultKind::kOriginal) return core::Done{};
  progress_.stage("checking equivalence");
  // Whoever interrupts still has the best graph checked, on one sample at least: unverified it
  // could not be written.
  SOAPSTONE_ASSIGN_OR_RETURN(
      report_.equivalence,
      check_equivalence(original_, report_.graph, backend_, *options_.verify, progress_, stop_));
  if (report_.equivalence->cut_nodes > 0) {
    report_.notes.push_back(
        fmt::format("{} opaque operators were not run: what they read was compared, what they "
                    "compute was random",
                    report_.equivalence->cut_nodes));
  }
  if (report_.equivalence->equal) return core::Done{};
  report_.outcome = Outcome::kNotEquivalent;
  SOAPSTONE_ASSIGN_OR_RETURN(report_.offending_rule, find_offender());
  return core::Done{};
}

Result<OptimizeReport> Optimizer::run() {
  SOAPSTONE_RETURN_IF_ERROR(search_graphs());
  SOAPSTONE_RETURN_IF_ERROR(choose());
  if (options_.record_chain) record_chain();
  note_proofs();
  SOAPSTONE_RETURN_IF_ERROR(verify());
  if (interrupted() && report_.outcome != Outcome::kNotEquivalent)
    report_.outcome = Outcome::kInterrupted;
  return std::move(report_);
}

}  // namespace

Result<OptimizeReport> optimize(const Graph& original, verifier::Admission& baseline,
                                verifier::Admission& rules, cost::CostModel& cost,
                                runtime::Backend& backend, const OptimizeOptions& options,
                                core::ProgressSink& progress, const core::StopToken& stop) {
  return Optimizer(original, baseline, rules, cost, backend, options, progress, stop).run();
}

}  // namespace soapstone::search
