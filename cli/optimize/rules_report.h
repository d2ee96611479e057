// The list of optimize-graph --list-rules: rules, and transforms, which make rules for a graph.
#pragma once

#include <string>
#include <vector>

#include "jobs/rules/rule_library.h"

namespace soapstone::cli {

using Transforms = std::vector<const transforms::Transform*>;

std::string rules_text(const jobs::LoadedRules& loaded, const Transforms& transforms);
/// A list: entries with the key `rule`, then entries with the key `transform`.
std::string rules_json(const jobs::LoadedRules& loaded, const Transforms& transforms);

}  // namespace soapstone::cli
