// The derivatives of the scalar functions: the one table that says how a function may change.
#pragma once

#include <cstddef>
#include <vector>

#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// The derivative of function(arguments) by argument k, as an expression in the arguments; null if
/// it is 0 wherever it exists. Where there is none a value is chosen: 0 at a step (floor, less,
/// truncate), 0 at the corner of relu and of abs.
/// Preconditions: as many arguments as the arity; the function is not kSelect.
Expr derivative(Function function, const std::vector<Expr>& arguments, std::size_t k);

}  // namespace soapstone::ops
