// A rule for one of the floating types that its inputs stand for. An input of type f32 in a rule is
// of any of them, but a cast in the rule may be exact for one and round another.
#pragma once

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// Whether what the rule says may depend on which floating type its f32 inputs stand for: it has a
/// cast, or names another floating type. All other rules are proved for real numbers, so for any.
bool depends_on_float_type(const Rule& rule);
/// The rule with that type for the one that its f32 inputs, and its constants of type f32, stand
/// for. Errors: kInvalidInput: a side has no types then, so the rule never matches such tensors.
/// Precondition: no parameters left (rules::specialize).
Result<Rule> with_float_type(const Rule& rule, core::DataType type);

}  // namespace soapstone::rules
