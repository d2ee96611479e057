// `inverse([…])` and `compose([…], […])` in the text of a rule.
#pragma once

#include <string>

#include "core/base/result.h"

namespace soapstone::rules {

/// The text with all calls evaluated. Errors: kInvalidInput with line and column.
core::Result<std::string> evaluate_permutations(std::string text);

}  // namespace soapstone::rules
