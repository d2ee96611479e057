// The floating types for which a rule is proved.
#pragma once

#include "rules/rule/rule.h"
#include "verifier/proof/verify.h"

namespace soapstone::verifier {

/// The types for which a rule holds that is proved with f32 for f32. Any type if its proof is about
/// real numbers alone; if it casts or names a type, those types in place of f32 with which it is
/// proved. Precondition: no parameters left.
rules::FloatTypes proved_types(const rules::Rule& rule, Solver& solver,
                               const VerifyOptions& options);

}  // namespace soapstone::verifier
