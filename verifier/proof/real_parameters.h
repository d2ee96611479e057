// Rules whose attributes have real parameters (epsilon, alpha), proved for all values of these at
// once: in the comprehensions each is an unknown number instead of the one that was drawn.
#pragma once

#include <string>

#include "rules/rule/rule.h"
#include "verifier/proof/verify.h"

namespace soapstone::verifier {

/// Empty: the rule is proved for all real values of its real parameters, with these values of all
/// others; else why not. An operator that computes another number from the attribute, or looks at
/// it, has no proof of this kind. Precondition: `values` has one for each parameter.
std::string attempt_proof_for_all_reals(const rules::Rule& rule, const rules::Bindings& values,
                                        Solver& solver, const VerifyOptions& options);

}  // namespace soapstone::verifier
