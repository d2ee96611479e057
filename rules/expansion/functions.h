// `for f in functions`: the functions of one tensor, element by element, that operators compute.
// `for f in total_functions`: those of them that have a finite value everywhere.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace soapstone::rules {

/// A call of each, for the variable `name`: "relu()", "clip(max=f_max, min=f_min)". A real
/// attribute is a symbol, named after the variable; of a text there is one call for each of its
/// values.
std::vector<std::string> calls_of_functions(const std::string& name, bool only_total);

/// `text` with the variable replaced by a call as above: `f(x)` becomes `clip(x; max=f_max,
/// min=f_min)`. Errors: kInvalidInput with line and column where the variable calls nothing.
core::Result<std::string> with_calls(const std::string& text, const std::string& name,
                                     const std::string& call);

}  // namespace soapstone::rules
