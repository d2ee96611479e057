// The options of run-plan.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/run/run_plan.h"

namespace soapstone::cli {

struct RunPlanOptions : CommonOptions {
  jobs::RunPlanRequest request;
  std::vector<std::string> settings;  ///< `KEY=NUMBER`
  std::string timeline;               ///< Path of a picture (.svg) or a trace; empty: neither.
};

/// Binds all options to `options`, which must outlive `line`.
void add_run_plan_options(CommandLine& line, RunPlanOptions& options);
/// The request with what its options mean together. Errors: kUsage.
core::Result<jobs::RunPlanRequest> run_plan_request(const RunPlanOptions& options);

}  // namespace soapstone::cli
