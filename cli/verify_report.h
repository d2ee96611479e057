// What verify-rules tells: a table for people, JSON for machines.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "verifier/batch.h"

namespace soapstone::cli {

/// `only_unproved`: leaves out what is proved, and the count at the end.
std::string verdicts_text(const std::vector<verifier::RuleVerdict>& verdicts, bool only_unproved);
nlohmann::ordered_json verdicts_json(const std::vector<verifier::RuleVerdict>& verdicts);

}  // namespace soapstone::cli
