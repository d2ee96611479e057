// Families of numbered names, so that a rule for two, three and four operands is one rule:
//
//   each i in 1..3  w{i}: [k, n{i}]        three declarations
//   ab = concat(w{1..3}; axis=1)           w1, w2, w3
//   each i in 0..2  y{i} = slice(x; starts=[{=i}], …)   the number itself
//   y{0..2} = split(x; axis=0, sizes=[{3 times 1}])     1, 1, 1
//   y = concat(x{1..0}, z; axis=0)         z alone
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace soapstone::rules {

/// The text with all families written out. Errors: kInvalidInput with line and column.
core::Result<std::string> expand_families(std::string_view text);

}  // namespace soapstone::rules
