// Rules at numbers for all sizes: large and different ones, so that nothing holds by coincidence.
#pragma once

#include <vector>

#include "generator/terms/term.h"
#include "rules/rule/rule.h"

namespace soapstone::generator {

/// Both sides with numbers everywhere. Up to `count` of them for a rule with parameters (strides,
/// permutations), each with other values; one for any other rule. Sizes differ as far as the rule
/// lets them. Empty if no sizes were found that it admits.
std::vector<Sides> rule_instances(const rules::Rule& rule, std::size_t count, std::uint64_t seed);

}  // namespace soapstone::generator
