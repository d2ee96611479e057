// Equality of forms that are linear once it is known which of some values is the largest: maxima
// of plain values, relu, |x|, comparisons. Case by case; cases that no real numbers satisfy are
// left out.
#pragma once

#include "verifier/checking/equality.h"
#include "verifier/laws/laws.h"

namespace soapstone::verifier {

/// Is the form 0 wherever the context holds and these elements of inputs are at least 0? False: not
/// proved. Without `thorough`, by the order of the values alone. Errors: throws OutOfBudget.
bool zero_in_every_order(Laws& laws, Equality& equality, const NormalForm& form,
                         const FactSet& context, const std::vector<const Atom*>& non_negative,
                         bool thorough);

}  // namespace soapstone::verifier
