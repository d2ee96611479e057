// Inputs that an operator may be given or not: `conv(x, w, b?)`. Works on words, as expand.h does.
#pragma once

#include <string>
#include <vector>

#include "rules/expansion/expand.h"

namespace soapstone::rules {

/// The rule with each optional input given, and left out: its declaration goes, and so do
/// statements whose result is marked, as `s? = mul(b?, c)`, when an operand that is marked is left
/// out. Suffixes say which is which: `b=given`, `b=absent`. One instance if nothing is optional.
/// Errors: kInvalidInput with line and column: too many optional inputs, one that is also used
/// without `?`.
core::Result<std::vector<RuleInstance>> expand_optional_inputs(const std::string& text);

}  // namespace soapstone::rules
