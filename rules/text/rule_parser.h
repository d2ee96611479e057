// Reads one rule instance, in the language without `for`.
#pragma once

#include <string>
#include <vector>

#include "rules/checking/complete.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

struct ParsedInstance {
  std::string suffix;  ///< The case of `!=`: `n<m`; empty: there is only one.
  Rule rule;           ///< Without its file, description and base name.
};

/// The rule: once for each case of its `!=` on symbols, not at all if a `where` clause on numbers
/// leaves it out. Errors: kInvalidInput, with line and column where the text is to blame.
Result<std::vector<ParsedInstance>> parse_instance(const std::string& text,
                                                   Purpose purpose = Purpose::kMatching);

}  // namespace soapstone::rules
