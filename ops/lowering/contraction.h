// Sums of products of tensors, two factors at a time.
#pragma once

#include "ops/lowering/spread.h"

namespace soapstone::ops {

/// Σ over `summed` of the product of the factors, each of which has the type of real numbers.
/// Pairs with small results come first. Variables that no factor has count as often as they have
/// values.
Spread contract(SharedNodes& nodes, const IndexSpace& space, SpreadOps& ops,
                std::vector<Spread> factors, std::vector<Symbol> summed);

}  // namespace soapstone::ops
