// Attempts at equality, from the plain comparison of normal forms to those that rewrite them first.
#pragma once

#include "verifier/checking/checker.h"
#include "verifier/laws/laws.h"

namespace soapstone::verifier {

/// Facts that hold at all inputs at which both sides have values: nothing is to be proved
/// elsewhere.
struct Premises {
  std::vector<const Atom*> non_negative;  ///< Elements of inputs.
  std::vector<const Atom*> defined;       ///< Reciprocals.
};

/// Are the forms equal wherever the context and the premises hold?
/// Without `thorough`, axioms of functions and signs are left out, which cost most where there is
/// no proof. False: not proved. Errors: throws OutOfBudget.
bool prove_equal(Laws& laws, const NormalForm& a, const NormalForm& b, const FactSet& context,
                 const Premises& premises, bool thorough);

}  // namespace soapstone::verifier
