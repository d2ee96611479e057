// Are these integer facts contradictory? Elimination of variables with rounding of constants: it
// answers nearly all questions of a proof, twenty times faster than a solver.
#pragma once

#include <span>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

/// kImpossible is certain. kPossible means that rational numbers satisfy the facts (integers need
/// not). kUnknown: too many combinations.
enum class Feasibility : std::uint8_t { kImpossible, kPossible, kUnknown };

/// Products of symbols count as unknowns of their own.
/// Complexity: doubly exponential at worst; bounded by giving up.
Feasibility fourier_motzkin(std::span<const Fact> facts);

}  // namespace soapstone::verifier
