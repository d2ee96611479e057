// Picks from many inequalities a few that contradict each other over the reals. The simplex method
// finds them in doubles, so nothing here is trusted: whoever asks checks the few inequalities
// again.
#pragma once

#include <span>
#include <vector>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

/// Returns facts of which some sum with positive weights is a number below 0 (Farkas' lemma), or
/// none if there seem to be no such facts. Products of symbols are unknowns of their own.
/// Complexity: a bounded number of pivots in a table of unknowns times facts.
std::vector<Fact> contradictory_part(std::span<const Fact> facts);

}  // namespace soapstone::verifier
