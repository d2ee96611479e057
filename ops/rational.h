// Arithmetic on the rational constants of comprehensions. None: infinite, or it does not fit.
#pragma once

#include <optional>

#include "ops/comprehension.h"

namespace soapstone::ops {

std::optional<Rational> sum_of(Rational a, Rational b);
std::optional<Rational> product_of(Rational a, Rational b);

}  // namespace soapstone::ops
