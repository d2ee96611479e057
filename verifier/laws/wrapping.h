// Integers of some bits. The results of sums and products are put into an atom wrap(F): the integer
// that is congruent to F modulo 2^n and fits. Within sums and products of at least as many bits the
// atom is F again, as Z → Z/2^n is a homomorphism of rings; to order, maxima, casts and all other
// functions it is opaque. What certainly fits needs no atom.
#pragma once

#include "verifier/laws/function_laws.h"

namespace soapstone::verifier {

class Wrapping {
 public:
  Wrapping(const ProofContext& proof, const IntegerRanges& ranges, Cases& cases,
           Simplifier& simplifier, FunctionLaws& functions)
      : proof_(proof), ranges_(ranges), cases_(cases), simplifier_(simplifier),
        functions_(functions) {}

  /// The result of an operation on integers that is computed as if exactly and wraps around.
  NormalForm wrapped(const NormalForm& form, core::DataType type, const FactSet& context);
  /// A real number as an integer, toward 0.
  NormalForm truncated(const NormalForm& form, core::DataType type, const FactSet& context);
  /// A form that is congruent to this modulo 2^bits of the integer type: wrap(F) is F in a product
  /// with integers, and coefficients are only told apart modulo 2^bits.
  NormalForm modulo(NormalForm form, core::DataType type, const FactSet& context);

 private:
  bool unwrap(Summand summand, int bits, const FactSet& context, NormalForm& result);

  ProofContext proof_;
  const IntegerRanges& ranges_;
  Cases& cases_;
  Simplifier& simplifier_;
  FunctionLaws& functions_;
};

}  // namespace soapstone::verifier
