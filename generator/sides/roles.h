// Names of inputs that say what operators read them as.
#pragma once

#include "generator/terms/term.h"

namespace soapstone::generator {

/// The sides with their inputs named by role: `w` for kernels and right matrices, `c` for a number
/// of each channel or feature, `i` for indices, `s` for scalars, `x` for all others; `x1`, `x2`
/// where there are several. Precondition: both sides have the same inputs.
Sides named_by_role(const Sides& sides);

}  // namespace soapstone::generator
