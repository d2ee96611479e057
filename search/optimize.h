// The whole job: baseline, search, timing end to end, equivalence. A front end or a framework calls
// this.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/models/measured_cost.h"
#include "search/base/weight_growth.h"
#include "search/baseline/simplify.h"
#include "search/equivalence/equivalence.h"
#include "search/equivalence/judgment.h"
#include "search/proofs/proof_chain.h"
#include "search/search.h"
#include "search/trials/trials.h"

namespace soapstone::search {

struct OptimizeOptions {
  SearchOptions search;
  /// None: the check is switched off, and the report says so.
  std::optional<EquivalenceOptions> verify = EquivalenceOptions{};
  Judge* judge = nullptr;  ///< None: nobody but us looks at the result, for this reason:
  std::string why_no_judge = "none was asked for";
  /// Nodes that depend on opaque ones are rewritten although no runtime can run the model.
  bool allow_unchecked = false;
  /// Inputs are known to hold no NaN and no infinity: nobody looks how far they would reach.
  bool assume_finite = false;
  GrowthOptions growth;  ///< How much larger the weights of the result may be.
  /// For messages: the opaque nodes by their names in the file, and why they are opaque.
  std::string opaque_nodes;
  /// Why the runtime of the deployment, which then is no clock, cannot run the model; empty: it was
  /// not asked, or can.
  std::string runtime_refusal;
  runtime::Fusion fusion = runtime::Fusion::kFull;
  ObjectiveKind objective = ObjectiveKind::kLatency;
  std::size_t peak_limit_bytes = 0;  ///< For kLatencyUnderMemory.
  /// Time the original and the best graphs end to end, in turn, and keep the original unless the
  /// gain is real. Off for costs that are not of this device (roofline).
  bool measure = true;
  /// Runs what is timed. None: the backend that checks and folds, too. Rounded factors are for
  /// timing alone.
  runtime::Backend* timing = nullptr;
  /// The runtime in which the result will be deployed: what is found is accepted by trials there
  /// (run_trials), and the result has to be faster there than the original. None: it is timed here.
  TrialClock* clock = nullptr;
  TrialOptions trials;
  bool record_chain = true;  ///< Takes time for each rewrite, whatever it touches.
  double measure_time_s = 20;
  int measure_rounds = 200;
  /// Which sizes that the model leaves open no file of a result can, to which these steps lead, and
  /// why: steps that close sizes are left out. None: sizes may be closed.
  std::function<std::vector<std::string>(const core::Graph&, const ProofChain&)> closed_sizes;
  /// Which constants may be others at other sizes that a result leaves open. None: all sizes are
  /// fixed.
  MayVary may_vary;
  /// Whether a result can be written at all; graphs that cannot are left out. None: all can.
  std::function<core::Status(const core::Graph&)> writable;
};

struct Latency {
  cost::Timing timing;
  std::size_t peak_activation_bytes = 0;  ///< ExecutableReport::arena_bytes; 0: not known.
};

struct RuleUse {
  std::string rule;  ///< Rule::base_name
  int count = 0;
  double gain_us = 0;  ///< By the cost model; the sum over all uses is the predicted gain.
  bool proved = true;
};

/// A rule on the way to the result that does something else with NaN, infinities, overflow or the
/// sign of zero.
struct SpecialChange {
  std::string rule;                     ///< Rule::base_name
  std::optional<rules::Edges> effects;  ///< None: nobody knows.
};

/// A rule that the checks have found out, without which the search went on.
struct TakenOut {
  std::string rule;  ///< Rule::base_name
  bool is_baseline = false;
  std::string found_by;  ///< "the check here", or Judge::runtime().
  Difference difference;
};

enum class Outcome : std::uint8_t {
  kImproved,
  kNoGainFound,    ///< The search found nothing cheaper.
  kGainNotReal,    ///< Cheaper by the cost model, not faster when timed: the original is kept.
  kNotEquivalent,  ///< A rewritten graph computes something else: nothing may be written.
  kInterrupted,    ///< Stopped; `graph` is the best so far if it was verified.
};

enum class ResultKind : std::uint8_t {
  kOriginal,   ///< Nothing faster: whoever has the file has the result.
  kBaseline,   ///< The baseline: it is faster than the original, and the search found nothing more.
  kRewritten,  ///< By the search.
};

struct OptimizeReport {
  Outcome outcome = Outcome::kNoGainFound;
  ResultKind result = ResultKind::kOriginal;
  core::Graph baseline;  ///< The original after simplify().
  core::Graph graph;     ///< The result; the baseline where nothing better was found.
  SimplifyReport simplify;
  SearchResult search;
  cost::GraphCost cost_before, cost_after;  ///< Costs of the baseline and of `graph`.
  std::size_t nodes_before = 0, nodes_after = 0;
  std::size_t opaque_nodes = 0;  ///< Of the original: no cost knows of them.
  std::optional<Latency> latency_before, latency_after;
  ObjectiveKind objective = ObjectiveKind::kLatency;
  std::size_t peak_limit_bytes = 0;
  runtime::MemoryUse memory_before, memory_after;  ///< Foretold; Latency has what was allocated.
  /// False: kLatencyUnderMemory, and the result needs more than the limit.
  bool is_within_limit() const {
    return objective != ObjectiveKind::kLatencyUnderMemory ||
           memory_after.peak_bytes <= peak_limit_bytes;
  }
  /// Time before / time after, paired. Before is the baseline; with trials, the original.
  std::optional<cost::RatioInterval> speedup;
  std::optional<TrialReport> trials;  ///< Set if there is a clock.
  /// Time of the original / time of the baseline, where that decided: by the cost model, and as
  /// measured.
  std::optional<double> baseline_gain;
  std::optional<cost::RatioInterval> baseline_speedup;
  /// Whether a clock has seen the result to be faster.
  bool is_timed() const {
    return result == ResultKind::kBaseline ? baseline_speedup.has_value() : speedup.has_value();
  }
  std::vector<Step> steps;  ///< From the baseline to `graph`; then duplicates were merged.
  std::vector<RuleUse> rules_applied;
  /// Proofs for the parameters that matches had, and what they took of the search.
  std::size_t proofs_tried = 0;
  std::size_t proofs_kept = 0;  ///< Others, that were made in earlier runs.
  double proof_cpu_s = 0;
  /// Rules that were not used, for some values, since no proof was found.
  std::vector<verifier::Admission::Refusal> refusals;
  std::size_t unproved_rules = 0;  ///< Loaded without a proof, baseline included.
  ProofChain chain;                ///< From the original to `graph`, if it was to be recorded.
  /// Rules without a proof on the way to `graph`, the baseline's included.
  std::vector<std::string> unproved_rules_applied;
  /// The rules on the way to `graph` say this of the ends of floating ranges.
  Latitude latitude;
  std::optional<EquivalenceReport> equivalence;
  /// None: the result is the original, or nothing was checked.
  std::optional<JudgeReport> judge;
  std::vector<TakenOut> taken_out;  ///< In the order in which they were found.
  /// In alphabetical order.
  std::vector<SpecialChange> special_changes;
  /// Rules that were left out where NaN and infinities matter (ops::SpecialValues).
  std::vector<std::string> left_out_for_specials;
  /// Whether graphs were left out since their weights were larger than `OptimizeOptions::growth`
  /// allows, and how large they may be.
  bool has_limited_weights = false;
  std::size_t most_weight_bytes = 0;
  /// For kNotEquivalent: the first step after which results differ. Nothing explains it, or too
  /// many rules were taken out before.
  std::string offending_rule;
  std::vector<std::string> notes;  ///< Remarks for the reader: reference kernels, cut nodes.
};

/// Errors: those of the backend and of check_equivalence; kUnsupported: there are opaque nodes, and
/// every runtime that was asked refuses the model. A result that is not equivalent is an
/// outcome, not an error.
core::Result<OptimizeReport> optimize(const core::Graph& original, verifier::Admission& baseline,
                                      verifier::Admission& rules, cost::CostModel& cost,
                                      runtime::Backend& backend, const OptimizeOptions& options,
                                      core::ProgressSink& progress, const core::StopToken& stop);

}  // namespace soapstone::search
