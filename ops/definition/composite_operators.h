// The operators that stand for a few others.
#pragma once

#include <vector>

#include "ops/definition/op_definition.h"

namespace soapstone::ops {

/// Like gradients they are found by their names alone: nothing enumerates them, as they compute
/// nothing new. Defined in ops/composites/.
std::vector<OpDefinition> composite_operators();

}  // namespace soapstone::ops
