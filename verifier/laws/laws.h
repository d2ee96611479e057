// All laws of one proof, each given what it stands on. Only relu and maxima are made of each other;
// all others build on those above them.
#pragma once

#include <utility>

#include "verifier/digits/digits.h"
#include "verifier/domain/demands.h"
#include "verifier/laws/function_laws.h"
#include "verifier/laws/maxima.h"
#include "verifier/laws/rounding.h"
#include "verifier/laws/wrapping.h"

namespace soapstone::verifier {

struct Laws {
  /// `make_equality` makes what maxima ask whether two of their values are equal.
  Laws(const ProofContext& context, MakeEquality make_equality)
      : proof(context), maxima(proof, signs, cases, simplifier, exponentials, functions, expansion,
                               std::move(make_equality)) {}
  Laws(const Laws&) = delete;
  Laws& operator=(const Laws&) = delete;

  ProofContext proof;
  Expansion expansion;
  IntegerRanges ranges;
  Cases cases{proof};
  Signs signs{proof, ranges};
  Selectors selectors{proof, cases};
  IndexDigits digits{proof, expansion};
  Demands demands{proof, signs, cases, selectors, digits};
  Simplifier simplifier{proof, ranges, signs, cases, selectors, expansion};
  Exponentials exponentials{proof, signs, simplifier};
  Maxima maxima;
  FunctionLaws functions{proof,      ranges,       signs,  cases,    selectors,
                         simplifier, exponentials, maxima, expansion};
  Wrapping wrapping{proof, ranges, cases, simplifier, functions};
  RoundingLaws rounding{proof, ranges, cases, maxima};
};

}  // namespace soapstone::verifier
