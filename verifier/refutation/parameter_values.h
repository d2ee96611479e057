// Values of the parameters of a rule (strides, permutations): which ones a verdict is about, and
// how they are shown.
#pragma once

#include <string>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// The values of rules::sample_parameters for the seeds 0, 1, 2, …, without repetitions, until
/// there are `count` or 8 · count seeds were tried. One entry without values for a rule without
/// parameters.
std::vector<rules::Bindings> parameter_grid(const rules::Rule& rule, int count);

/// `s = 2, epsilon = 0.5`. Precondition: each parameter has a value.
std::string parameter_text(const rules::Rule& rule, const rules::Bindings& values);

}  // namespace soapstone::verifier
