// The outcome of optimize().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/machine_load.h"
#include "jobs/devices/rounding.h"
#include "jobs/optimize/explained_changes.h"
#include "jobs/rules/rule_library.h"
#include "search/optimize.h"
#include "verifier/admission.h"

namespace soapstone::jobs {

/// A graph inside a node, and what became of it.
struct BodyOutcome {
  std::string where;      ///< "then_branch of node 'choose' (If)"
  double runs = 1;        ///< In one run of its node; 1 where the model does not say.
  bool is_inner = false;  ///< It stands in the body before it.
  bool is_improved = false;
  std::string why_left;                          ///< Empty: it is improved.
  double cost_before_us = 0, cost_after_us = 0;  ///< Of one run of it, by the cost model.
  /// Time before / time after of the body alone, in the runtime of the deployment.
  std::optional<cost::RatioInterval> speedup;
  std::vector<std::string> rules;              ///< Rule::base_name of what was applied.
  std::optional<ExplainedResult> explanation;  ///< If the request asks for it.
};

/// How the run went, besides the result of the search.
struct RunSummary {
  std::string model;        ///< Input path.
  std::string output;       ///< Path of the result; empty: not written.
  std::string output_note;  ///< Why not, or that the original was copied.
  std::vector<std::string>
      notes;          ///< Notes on writing the result; the report has those of the search.
  std::string costs;  ///< CostModel::description().
  std::string device;
  /// What rounded factors do to the result; none: none were asked for, or notes say why not.
  std::optional<RoundingError> rounding;
  /// Rules that matched tensors of a type for which their label forbids them.
  std::vector<verifier::Admission::LabelRefusal> left_out;
  RuleRequest rules;                ///< The set that the search had.
  std::vector<BodyOutcome> bodies;  ///< Of If, Loop and Scan; one in another follows that one.
  /// CPU time of the whole process while the job ran: other jobs that ran beside it are in it.
  double total_cpu_s = 0;
  double total_wall_s = 0;
  double peak_rss_mb = 0;
  std::optional<core::MachineLoad> load;  ///< While the job ran; none: not known.
};

struct OptimizeOutcome {
  search::OptimizeReport report;  ///< Its `graph` is the result.
  RunSummary run;
  std::optional<ExplainedResult> explanation;  ///< If the request asks for it.

  /// Remarks for the reader on the search and on the files that were written.
  std::vector<std::string> notes() const;
};

/// "improved", "no_gain_found", …
std::string_view outcome_name(search::Outcome outcome);
/// "original", "baseline", "rewritten"
std::string_view result_name(search::ResultKind result);

}  // namespace soapstone::jobs
