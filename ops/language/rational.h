// Arithmetic on the rational constants of comprehensions. None: infinite, or it does not fit.
#pragma once

#include <optional>

#include "ops/language/comprehension.h"

namespace soapstone::ops {

std::optional<Rational> sum_of(Rational a, Rational b);
std::optional<Rational> product_of(Rational a, Rational b);

/// The number meant by a real constant of which only fp32 is known: of all fractions with the
/// same nearest fp32 number, the one with the least denominator. So 0.33333334 is 1/3, and
/// 0.70710678 is what √½ is. Integers, infinities and what is beyond fp32 stay as they are.
Rational canonical_constant(Rational value);

}  // namespace soapstone::ops
