// Equations between sizes that a proof rests on although the author of the rule did not write them.
// The sides of `sum over rows = sum over columns` have one shape only if both sizes are 1: what is
// proved then is not what was meant.
#pragma once

#include <vector>

#include "rules/rule/rule.h"
#include "verifier/questions/oracle.h"

namespace soapstone::verifier {

/// `n = 1` and `n = m` for sizes of inputs that the inferred part of the guard forces, and what the
/// author wrote does not. Equations that follow from those before them are left out.
/// Precondition: no parameters left (rules::specialize).
std::vector<ops::SizeConstraint> unwritten_equations(const rules::Rule& rule, Solver& solver);

/// Sizes that the author of the rule admits, and at which the guard does not hold; empty if none
/// were found.
std::vector<std::pair<std::string, std::int64_t>> sizes_beyond_guard(const rules::Rule& rule,
                                                                     std::uint64_t seed);

}  // namespace soapstone::verifier
