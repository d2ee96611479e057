// Reads a tensor at index expressions.
#pragma once

#include "ops/lowering/spread.h"

namespace soapstone::ops {

/// The elements of a tensor at `index`, whose expressions may lie outside of it where nobody looks:
/// there an element at its border is read. Errors go to `nodes`: kUnsupported if a table of
/// positions would be too large.
Spread read_at(SharedNodes& nodes, const IndexSpace& space, core::TensorId tensor,
               const std::vector<Polynomial>& index);
/// The same for row-major positions.
Spread read_flat_at(SharedNodes& nodes, const IndexSpace& space, core::TensorId tensor,
                    const Polynomial& position);

}  // namespace soapstone::ops
