// The options of cost-rules.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "cli/options/runtime_options.h"
#include "jobs/gains/cost_rules.h"

namespace soapstone::cli {

struct CostRulesOptions : CommonOptions {
  jobs::CostRulesRequest request;
  RuntimeOptions runtime;
  std::string python;
};

/// Binds all options to `options`, which must outlive `line`.
void add_cost_rules_options(CommandLine& line, CostRulesOptions& options);
/// The request with what its options mean together. Errors: kUsage.
core::Result<jobs::CostRulesRequest> request_of(const CommandLine& line,
                                                const CostRulesOptions& options);

}  // namespace soapstone::cli
