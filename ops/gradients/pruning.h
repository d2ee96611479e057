// Leaves out of a meaning what its outputs do not depend on.
#pragma once

#include <set>

#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// The inputs that the outputs depend on, by number.
std::set<std::uint32_t> inputs_read(const Semantics& semantics);

/// The same meaning without stages that nothing needs, and without requirements on inputs that no
/// stage reads.
Semantics pruned(Semantics semantics);

}  // namespace soapstone::ops
