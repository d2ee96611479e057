// Rules that are their own reverse: (x + y) + z = (x + z) + y is the same rule in both directions.
#pragma once

#include "generator/terms/term.h"

namespace soapstone::generator {

/// Whether another choice of names for inputs and sizes makes the source the target and the target
/// the source. Operands of commutative operators may be exchanged. A size that is no plain symbol
/// must keep its symbols' names. Precondition: both sides have the same inputs.
bool is_own_reverse(const Sides& sides);

}  // namespace soapstone::generator
