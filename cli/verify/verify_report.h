// The report of verify-rules: a table for people, JSON for machines.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "verifier/batch.h"

namespace soapstone::cli {

/// `only_unproved`: leaves out what is proved, and the count at the end.
std::string verdicts_text(const std::vector<verifier::RuleVerdict>& verdicts, bool only_unproved);
std::string verdicts_json(const std::vector<verifier::RuleVerdict>& verdicts);
/// The error that the command ends with. Errors: kInternal if numbers contradict a proof;
/// kRequirementNotMet if a rule is refuted; kUnsupported if one is unknown.
core::Status conclude_verify(const std::vector<verifier::RuleVerdict>& verdicts);

}  // namespace soapstone::cli
