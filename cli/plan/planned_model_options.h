// The options that say of which model a plan is, beside its name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/plan/planned_model.h"

namespace soapstone::cli {

/// --set, --batch, --shape. `settings`: texts for read_assignments().
void add_planned_model_options(CommandLine& line, jobs::PlannedModelRequest& model,
                               std::vector<std::string>& settings);

/// `KEY=NUMBER`, each key once. `option`: its name in messages. Errors: kUsage.
core::Status read_assignments(const std::string& option, const std::vector<std::string>& texts,
                              std::map<std::string, std::int64_t>& numbers);

}  // namespace soapstone::cli
