// The list of rules of optimize-graph --list-rules.
#pragma once

#include <string>

#include "jobs/rules/rule_library.h"

namespace soapstone::cli {

std::string rules_text(const jobs::LoadedRules& loaded);
std::string rules_json(const jobs::LoadedRules& loaded);

}  // namespace soapstone::cli
