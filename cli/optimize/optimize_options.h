// The options of optimize-graph.
#pragma once

#include <string>

#include "cli/options/common_options.h"
#include "cli/options/objective_options.h"
#include "cli/options/runtime_options.h"
#include "jobs/optimize/request.h"

namespace soapstone::cli {

struct OptimizeOptions : CommonOptions {
  jobs::OptimizeRequest request;
  ObjectiveOptions objective;
  RuntimeOptions runtime;
  std::string verify = "12";  ///< A number of inputs, or "off".
  std::string explain;        ///< `-`: after the report; else a file; empty: not at all.
  double require_speedup = 0;
  double max_growth = 10;  ///< Percent.
  bool list_rules = false;
  bool portable = false;  ///< The default, said aloud.
};

/// Binds all options to `options`, which must outlive `line`.
void add_optimize_options(CommandLine& line, OptimizeOptions& options);
/// Limits of single strategies ask for these strategies, if none was given. `line` is parsed.
void imply_strategy(const CommandLine& line, OptimizeOptions& options);
/// Errors: kUsage if options contradict each other or one is missing.
core::Status check_usage(const OptimizeOptions& options);
/// The request with the options that are not bound to it. Errors: kUsage.
core::Result<jobs::OptimizeRequest> request_of(const OptimizeOptions& options);

}  // namespace soapstone::cli
