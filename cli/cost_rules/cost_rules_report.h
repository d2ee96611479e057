// The report of cost-rules: a table for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/gains/cost_rules.h"

namespace soapstone::cli {

/// `only_paying`: leaves out rules that only enable others.
std::string cost_rules_text(const jobs::CostRulesRequest& request,
                            const jobs::CostRulesOutcome& outcome, bool only_paying);
std::string cost_rules_json(const jobs::CostRulesOutcome& outcome);

}  // namespace soapstone::cli
