// The flags that say with which rules a command works.
#pragma once

#include "cli/options/command_line.h"
#include "jobs/rules/rule_library.h"

namespace soapstone::cli {

/// --rules, --only-rules, --generated, --only, --skip, --allow-unproved, --allow-range-changes,
/// --trust-proofs.
void add_rule_options(CommandLine& line, jobs::RuleRequest& request);

}  // namespace soapstone::cli
