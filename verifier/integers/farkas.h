// Which of many inequalities contradict each other over the reals. Found by the simplex method in
// doubles, so nothing here is trusted: the few inequalities that it names are looked at again.
#pragma once

#include <span>
#include <vector>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

/// Facts of which some sum with positive weights is a number below 0 (Farkas' lemma); none if there
/// seem to be no such. Products of symbols are unknowns of their own.
/// Complexity: a bounded number of pivots in a table of unknowns times facts.
std::vector<Fact> contradictory_part(std::span<const Fact> facts);

}  // namespace soapstone::verifier
