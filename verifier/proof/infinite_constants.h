// Rules with constants such as the −∞ of a mask. Proofs compute with real numbers, so they have no
// word for it; but where elements only change their places their values do not matter.
#pragma once

#include <optional>

#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// The rule with an input in place of each constant that has an infinite element: what is proved
/// for any values holds for these. None: there is no such constant, or an operator computes with
/// it, so that the rule must be refused.
/// Precondition: no parameters left (rules::specialize).
std::optional<rules::Rule> with_any_constants(const rules::Rule& rule);

}  // namespace soapstone::verifier
