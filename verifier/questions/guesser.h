// Guesses how the bound variables of one summand correspond to those of another, by unifying the
// indices at which both read. Nothing here is trusted: the checker verifies every guess.
#pragma once

#include <functional>

#include "verifier/forms/arena.h"
#include "verifier/questions/budget.h"

namespace soapstone::verifier {

/// Calls `accept` with values for the binders of `b` in summands of the binders of `a` and free
/// symbols, until it returns true or there is nothing left to try. Returns whether it did. Errors:
/// throws OutOfBudget after as many pairs of atoms, summands and pieces as the budget has.
bool guess_binders(Arena& arena, Budget& budget, const Summand& a, const Summand& b,
                   const std::function<bool(const Substitution&)>& accept);

}  // namespace soapstone::verifier
