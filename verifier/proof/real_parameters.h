// Rules whose attributes have real parameters (epsilon, alpha), proved for all values of these at
// once: in the comprehensions each is an unknown number instead of the one that was drawn. So is a
// number that no fraction holds, such as the bound of a clip that keeps everything finite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/rule/rule.h"
#include "verifier/proof/verify.h"

namespace soapstone::verifier {

/// Empty: the rule is proved for all real values of its real parameters, with these values of all
/// others; else why not. An operator that computes another number from the attribute, or looks at
/// it, has no proof of this kind. Precondition: `values` has one for each parameter.
std::string attempt_proof_for_all_reals(const rules::Rule& rule, const rules::Bindings& values,
                                        Solver& solver, const VerifyOptions& options);

/// A rule and those of its numbers that stand for unknown ones (VerifyOptions::unknown_numbers).
struct UnknownNumbers {
  rules::Rule rule;
  std::vector<ops::Rational> numbers;
};

/// The rule with unknown numbers in place of finite ones in attributes that are beyond 2^62: what
/// is proved for any holds for these. None: there are none, or an operator computes with them.
/// Precondition: no parameters left (rules::specialize).
std::optional<UnknownNumbers> with_unknown_numbers(const rules::Rule& rule);

}  // namespace soapstone::verifier
