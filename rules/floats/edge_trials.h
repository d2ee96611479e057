// Experiments with a rule at the edges of floating types: inputs from the smallest to the
// largest numbers of a type, mixed with each other, with zeros, with infinities and with NaN.
#pragma once

#include <cstdint>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// Runs both sides on up to `tries` sets of inputs of each type, fewer if they show nothing new for
/// long. Deterministic.
/// Precondition: all sizes are numbers; no opaque node.
Edges observe_edges(const Rule& sides, int tries, std::uint64_t seed);

}  // namespace soapstone::rules
