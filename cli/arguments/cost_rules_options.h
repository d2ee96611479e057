// The options of cost-rules.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/gains/cost_rules.h"

namespace soapstone::cli {

struct CostRulesOptions : CommonOptions {
  jobs::CostRulesRequest request;
};

/// Binds all options to `options`, which must outlive `line`.
void add_cost_rules_options(CommandLine& line, CostRulesOptions& options);

}  // namespace soapstone::cli
