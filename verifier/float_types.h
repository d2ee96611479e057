// The floating types for which a proof over the real numbers holds.
#pragma once

#include "rules/rule.h"

namespace soapstone::verifier {

/// `any`, since reals know no types; but f32 alone if the rule casts or names another floating
/// type: then what f32 stands for decides which of the casts lose something.
rules::FloatTypes float_types_of(const rules::Rule& rule);

}  // namespace soapstone::verifier
