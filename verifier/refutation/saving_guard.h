// Sizes that must be equal for a wrong rule to be right.
#pragma once

#include <functional>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// Tries equations between two sizes of inputs, then between a size and 1, first one, then two at a
/// time; numbers sort out most of them before `proves` is asked. Empty: none was found.
/// Precondition: no parameters left (rules::specialize).
std::vector<ops::SizeConstraint>
find_saving_guard(const rules::Rule& rule, const std::function<bool(const rules::Rule&)>& proves);

/// The rule with further conditions.
rules::Rule with_guard(const rules::Rule& rule, const std::vector<ops::SizeConstraint>& guard);

}  // namespace soapstone::verifier
