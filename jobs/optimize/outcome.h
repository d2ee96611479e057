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
  RuleRequest rules;  ///< The set that the search had.
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
