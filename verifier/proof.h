// Attempts at equality, from the plain comparison of normal forms to those that rewrite them first.
#pragma once

#include "verifier/checker.h"
#include "verifier/normalizer.h"

namespace soapstone::verifier {

/// Are the forms equal wherever the context holds and these elements of inputs are at least 0?
/// Without `thorough`, axioms of functions and signs are left out, which cost most where there is
/// no proof. False: not proved. Errors: throws OutOfBudget.
bool prove_equal(Normalizer& normalizer, const NormalForm& a, const NormalForm& b,
                 const FactSet& context, const std::vector<const Atom*>& non_negative,
                 bool thorough);

}  // namespace soapstone::verifier
