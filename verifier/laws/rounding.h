// Floating point, for the question whether a rule keeps every bit. The model: an operator computes
// each element as if exactly and rounds it once; in which order a kernel adds is its own affair.
// round(x) = x for numbers of the type, and round(−x) = −round(x).
#pragma once

#include "verifier/laws/maxima.h"

namespace soapstone::verifier {

class RoundingLaws {
 public:
  RoundingLaws(const ProofContext& proof, const IntegerRanges& ranges, Cases& cases, Maxima& maxima)
      : proof_(proof), ranges_(ranges), cases_(cases), maxima_(maxima) {}

  /// The result of an operation that is computed as if exactly and rounded once.
  NormalForm rounded(const NormalForm& form, core::DataType type, const FactSet& context);

 private:
  bool is_representable(const NormalForm& form, core::DataType type) const;
  bool is_representable(const Atom& atom, core::DataType type) const;
  bool holds_inputs(core::DataType type, const Atom& read) const;
  NormalForm rounded_whole(const NormalForm& form, core::DataType type, const FactSet& context);

  ProofContext proof_;
  const IntegerRanges& ranges_;
  Cases& cases_;
  Maxima& maxima_;
};

}  // namespace soapstone::verifier
