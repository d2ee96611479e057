// The options of optimize-graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/device_options.h"
#include "cli/file_judge.h"
#include "cli/objective_options.h"
#include "cli/rule_files.h"
#include "search/equivalence/equivalence.h"
#include "search/search.h"

namespace soapstone::cli {

struct OptimizeArguments : CommonOptions {
  std::string model, output;
  std::vector<std::string> shapes;
  DeviceOptions device;
  RuleOptions rules;
  ObjectiveOptions objective;
  search::SearchOptions search;
  std::string costs = "measured";
  std::string strategy = "backtracking";
  std::string verify = "8";
  std::string inputs;
  std::string proof;
  std::string explain;  ///< `-`: after the report; else a file; empty: not at all.
  std::string trace;
  std::string resume;
  JudgeOptions judge;
  std::optional<double> rtol, atol;
  std::uint64_t seed = 0;
  double require_speedup = 0;
  bool list_rules = false, dry_run = false, strict = false, keep_constants = false;
  bool allow_unchecked = false;
};

/// Binds all options to `app`; `arguments` must outlive it.
void add_optimize_options(CLI::App& app, OptimizeArguments& arguments);
/// Errors: kUsage if options contradict each other or one is missing.
core::Status check_usage(const OptimizeArguments& arguments);

}  // namespace soapstone::cli
