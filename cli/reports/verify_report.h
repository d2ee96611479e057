// What verify-rules tells: a table for people, JSON for machines, a line for rule files.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "rules/text/evidence.h"
#include "verifier/batch.h"

namespace soapstone::cli {

/// `only_unproved`: leaves out what is proved, and the count at the end.
std::string verdicts_text(const std::vector<verifier::RuleVerdict>& verdicts, bool only_unproved);
nlohmann::ordered_json verdicts_json(const std::vector<verifier::RuleVerdict>& verdicts);
/// The line for what was found, as it stands under a rule. A refuted rule gets none.
rules::EvidenceLine evidence_of(const verifier::RuleVerdict& verdict);

}  // namespace soapstone::cli
