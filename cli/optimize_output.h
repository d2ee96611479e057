// What an optimization leaves behind: the model, and how it was made.
#pragma once

#include "cli/optimize_job.h"
#include "cli/optimize_report.h"

namespace soapstone::cli {

/// Writes what is to be written and says so in `run`.
/// Errors: kInvalidInput if a file cannot be written.
core::Status write_result(const OptimizeArguments& options, const OptimizeJob& job,
                          const search::OptimizeReport& report, RunSummary& run, Session& session);

}  // namespace soapstone::cli
