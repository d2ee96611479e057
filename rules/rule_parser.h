// Reads one rule instance, in the language without `for`.
#pragma once

#include <optional>
#include <string>

#include "rules/complete.h"
#include "rules/rule.h"

namespace soapstone::rules {

/// The rule without its file, description and base name; none if a `where` clause on numbers leaves
/// this instance out. Errors: kInvalidInput, with line and column where the text is to blame.
Result<std::optional<Rule>> parse_instance(const std::string& text,
                                           Purpose purpose = Purpose::kMatching);

}  // namespace soapstone::rules
