// The job of optimize() with what its stages share. Private to search/: choice.cpp chooses among
// what was found, trial_choice.cpp does so in the runtime of the deployment, verification.cpp
// checks it, offender.cpp finds the rule that makes a difference, proof_records.cpp says how the
// result was made.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/equivalence/judgment.h"
#include "search/equivalence/spread.h"
#include "search/optimize.h"
#include "search/passes/kinds.h"
#include "search/trials/enduring_clock.h"
#include "search/trials/form_trials.h"

namespace soapstone::search {

class Optimizer {
 public:
  Optimizer(const core::Graph& original, verifier::Admission& baseline, verifier::Admission& rules,
            cost::CostModel& cost, runtime::Backend& backend, const OptimizeOptions& options,
            core::ProgressSink& progress, const core::StopToken& stop)
      : original_(original), baseline_(baseline), rules_(rules), cost_(cost), backend_(backend),
        timing_(options.timing ? *options.timing : backend), options_(options),
        trials_(options.trials), progress_(progress), stop_(stop),
        objective_(options.objective, options.peak_limit_bytes, cost, timing_, options.fusion) {
    if (options.clock != nullptr) clock_.emplace(*options.clock);
    objective_.limit_weights(WeightLimit(original, options.growth));
    trials_.weight_limit = objective_.weight_limit();
  }

  core::Result<OptimizeReport> run();

 private:
  /// A difference between the original and the result, and who found it.
  struct Found {
    enum class By : std::uint8_t { kCheck, kJudge, kSpread } by = By::kCheck;
    Difference difference;
  };
  /// A graph on the way from the original to the result.
  struct Waypoint {
    core::Graph graph;
    std::vector<std::string> rules;  ///< Rule::base_name of what was applied last; empty: none.
    bool is_baseline = false;
    std::string what;      ///< For a reader.
    bool decides = false;  ///< Choices were decided.
  };

  core::Status run_round();
  void start_again();
  core::Status search_graphs();
  core::Status simplify_original();
  SimplifyOptions simplify_options() const;
  core::Status
  leave_out_of_baseline(const std::function<bool(std::size_t, const Waypoint&)>& allows,
                        std::string_view why);
  core::Status keep_sizes_open();
  bool closes_sizes(const core::Graph& graph, const std::vector<Step>& steps) const;
  void leave_out_closing();
  Candidate left_open(const Candidate& candidate, std::set<std::string>& left_out);
  std::vector<std::string> in_use(std::vector<std::string> forms) const;
  void merge_in_results();
  void drop_unwritable();
  core::Status choose();
  core::Status take_choice();
  core::Status leave_out_result();
  core::Status choose_by_time();
  std::optional<std::size_t> choose_by_objective(std::span<const cost::Timing> timings) const;
  bool has_to_be_faster() const;
  core::Status compare_baseline();
  core::Status try_baseline();
  core::Status try_without(const std::string& rule, core::Result<cost::Comparison>& whole);
  void choose_by_trials();
  Replayed tried_candidate(const Candidate& candidate);
  void try_against_costs(Replayed& now);
  void time_result();
  bool is_baseline_harmless() const;
  void add_forms(const std::vector<std::string>& names, Replayed& now);
  void note_reference_kernels(const runtime::Executable& executable);

  core::Status prepare_checks();
  core::Status look_at_opaque();
  core::Error runs_nowhere(const std::string& refusal) const;
  /// Our executor runs no opaque nodes: what it takes for the rest is no time of the model.
  bool may_time_here() const { return options_.measure && opaque_nodes_ == 0 && !interrupted(); }
  core::Status verify();
  core::Status ask_judge();
  core::Status check_spread();
  Latitude latitude() const;
  void note_checks();
  void note_interrupt();

  core::Result<bool> take_out_offender(int round);
  std::optional<Waypoint> after(const SimplifyStep& step, const core::Graph& graph) const;
  std::vector<Waypoint> waypoints() const;
  core::Result<bool> differs(const core::Graph& graph);
  std::string finder() const;
  void take_out(const std::string& rule, bool is_baseline);
  void take_out_all_that_spread();
  static bool may_spread(const rules::Rule& rule);
  core::Result<std::size_t> first_difference(const std::vector<Waypoint>& way);

  ProofChain chain_of_baseline(std::size_t steps) const;
  ProofChain chain_of(const core::Graph& graph, const std::vector<Step>& steps) const;
  void record_chain();
  void note_proofs();
  void note_specials();
  /// Calls `use` for each rule on the way to the result, lemmas taken apart.
  void for_each_use(const std::function<void(verifier::Admission&, core::RuleId,
                                             const rules::Match&)>& use) const;
  const Candidate& chosen() const { return report_.search.best[*chosen_]; }
  bool interrupted() const { return stop_.stop_requested(); }

  const core::Graph& original_;
  verifier::Admission& baseline_;
  verifier::Admission& rules_;
  cost::CostModel& cost_;
  runtime::Backend& backend_;  ///< Checks.
  runtime::Backend& timing_;   ///< Times.
  const OptimizeOptions& options_;
  TrialOptions trials_;  ///< Those of the options, and how large weights may be.
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  Objective objective_;
  std::optional<EnduringClock> clock_;  ///< That of the options, if there is one.
  OptimizeReport report_;
  Replayed start_;  ///< The baseline, with the forms that are faster: where the search begins.
  /// The original and the baseline in the runtime of the deployment, if there is one.
  std::optional<cost::Comparison> baseline_times_;
  std::optional<std::size_t> chosen_;  ///< Into report_.search.best; none: keep the original.

  std::optional<EquivalenceCheck> check_;
  std::optional<Judgment> judgment_;
  std::optional<SpreadCheck> spread_;
  std::optional<Found> difference_;
  RegionMemory memory_;
  std::size_t opaque_nodes_ = 0, nodes_behind_opaque_ = 0;
  std::vector<std::string> left_out_notes_;  ///< About rules that are left out in all rounds.
  bool closes_always_ = false;  ///< No result but the original leaves open what that does.
  bool decides_ = true;         ///< False: choices stay that constants decide at these sizes.
  bool freeze_ = false;         ///< Nodes that depend on opaque ones stay as they are.
  std::string why_frozen_;
};

}  // namespace soapstone::search
