// Guesses how the bound variables of one summand correspond to those of another, by unifying the
// indices at which both read. Nothing here is trusted: the checker verifies every guess.
#pragma once

#include <functional>

#include "verifier/forms/arena.h"

namespace soapstone::verifier {

/// Calls `accept` with values for the binders of `b` in summands of the binders of `a` and free
/// symbols, until it returns true or there is nothing left to try. Returns whether it did.
bool guess_binders(Arena& arena, const Summand& a, const Summand& b,
                   const std::function<bool(const Substitution&)>& accept);

}  // namespace soapstone::verifier
