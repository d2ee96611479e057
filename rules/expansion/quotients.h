// Sizes such as `h/2` and `(n + m)/4` in the text of a rule. Works on words, as expand.h does.
#pragma once

#include <string>

#include "core/base/result.h"

namespace soapstone::rules {

/// Each quotient becomes a symbol of its own, `$"h/2"`, and the rule gets the condition
/// `where 2*$"h/2" = h` in front of `source`, by which it matches only what divides without a rest.
/// A quotient of numbers becomes its value. Lines keep their numbers.
/// Errors: kInvalidInput with line and column: a divisor that is no number from 1 on, numbers that
/// do not divide.
core::Result<std::string> name_quotients(std::string text);

}  // namespace soapstone::rules
