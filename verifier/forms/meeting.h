// Two reads of one tensor that meet at some values of their binders.
#pragma once

#include <optional>
#include <vector>

#include "verifier/forms/summand.h"

namespace soapstone::verifier {

/// Values of the binders for which one element is the other: index of `varying` = index of `fixed`.
std::optional<Substitution> meeting(const Atom& varying, const Atom& fixed,
                                    const std::vector<Symbol>& binders);

}  // namespace soapstone::verifier
