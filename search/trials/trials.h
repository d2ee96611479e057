// Changes are accepted by trial: what the search proposes is grouped by kind, and a group stays if
// the model is faster with it than without it, in the runtime in which it will be deployed.
#pragma once

#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "cost/models/measured_cost.h"
#include "search/base/types.h"
#include "search/base/weight_growth.h"
#include "search/trials/site_replay.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// Times whole graphs where they will be deployed.
class TrialClock {
 public:
  virtual ~TrialClock() = default;
  /// For reports: "ONNX Runtime 1.31.1, 1 thread".
  virtual std::string runtime() const = 0;
  /// Times both in turn for about `budget_s`, or less where the difference is clear before; the
  /// ratio is the time of `a` over the time of `b`. Errors: kUnsupported: the runtime refuses one
  /// of them; kUnavailable: it does not work; kInterrupted.
  virtual core::Result<cost::Comparison> compare(const core::Graph& a, const core::Graph& b,
                                                 double budget_s, const core::StopToken& stop) = 0;
  /// The same of the user's own file, of which `original` was read, and `b`: what compare() writes
  /// of the original may be faster than the file, as its sizes are fixed. Always measured afresh.
  virtual core::Result<cost::Comparison> compare_file(const core::Graph& original,
                                                      const core::Graph& b, double budget_s,
                                                      const core::StopToken& stop) {
    return compare(original, b, budget_s, stop);
  }
};

struct TrialOptions {
  double time_s = 60;                ///< For the trials of run_trials; 0: nothing is tried.
  int most = 60;                     ///< Trials.
  double least_s = 0.5, most_s = 6;  ///< For one trial.
  /// Groups with a smaller predicted gain, as a share of the graph's cost, are tried as one.
  double small_share = 0.002;
  /// Rule::base_name of rules that are tried wherever they match, in this order (try_forms), and
  /// that no search uses. Half of `time_s` is for them, on top of it.
  std::vector<std::string> forms = {};
  /// Likewise, but tried on what the search has made, since no rule looks into their operators.
  std::vector<std::string> last_forms = {};
  WeightLimit weight_limit = {};  ///< What forms make is within it.
};

/// Sites that are tried together.
struct TrialGroup {
  std::string what;                  ///< The rules, in the order in which a site applies them.
  std::vector<std::uint32_t> sites;  ///< Step::site
  double gain_us = 0;                ///< By the cost model.
};
/// By the rules that sites apply, and by the kind of their regions, too, if `by_kind`; the largest
/// gain first. Deterministic.
std::vector<TrialGroup> group_sites(const std::vector<Step>& steps, bool by_kind = false);

enum class Verdict : std::uint8_t {
  kKept,
  kLeftOut,
  kNotApplicable,  ///< It stands on changes that were left out.
  kNotMeasurable,
};
std::string_view to_string(Verdict verdict);

struct Trial {
  std::string what;
  std::size_t sites = 0;
  double predicted = 1;          ///< Cost without over cost with, by the cost model.
  cost::RatioInterval measured;  ///< Time without over time with.
  Verdict verdict = Verdict::kLeftOut;
  std::string note;  ///< For a reader: why it could not be measured.
  /// The cost model foretells no gain; it was tried in case a cost is wrong (try_doubts).
  bool is_against_costs = false;

  bool is_measured() const { return note.empty() && verdict != Verdict::kNotApplicable; }
};

struct TrialReport {
  std::string runtime;
  std::vector<Trial> trials;
  std::string given_up;  ///< Why the runtime was given up before the trials were over, or empty.
  double cpu_s = 0, wall_s = 0;
};

/// The sites of `candidate` (whose steps lead from `base`) that make the model faster, and what is
/// left of the candidate. At `stop`, when the time is used up, or when the clock says kUnavailable:
/// what was kept until then.
Replayed run_trials(const core::Graph& base, const Candidate& candidate, double cost_before_us,
                    verifier::Admission& rules, TrialClock& clock, const TrialOptions& options,
                    core::ProgressSink& progress, const core::StopToken& stop, TrialReport& report);

}  // namespace soapstone::search
