// exp(a + b) = exp(a)·exp(b), log(a·b) = log(a) + log(b) for a, b ≥ 0, and functions that are made
// of exponentials: σ(x) = 1 / (1 + exp(−x)).
#pragma once

#include <optional>

#include "verifier/algebra/simplifier.h"

namespace soapstone::verifier {

class Exponentials {
 public:
  Exponentials(const ProofContext& proof, const Signs& signs, Simplifier& simplifier)
      : proof_(proof), signs_(signs), simplifier_(simplifier) {}

  /// exp(Σ cᵢ·tᵢ) = Π exp(tᵢ)^cᵢ, and exp(log(t)) = t for t that is never negative.
  NormalForm exponential(const NormalForm& form) const;
  /// log(Π exp(tᵢ)^cᵢ) = Σ cᵢ·tᵢ; none if there are other factors.
  std::optional<NormalForm> exponent_of(const NormalForm& form) const;
  /// log(c·Π aᵢ^kᵢ·rest) = log(c) + Σ kᵢ·log(aᵢ) + log(rest) for c > 0, and aᵢ and a whole that are
  /// never negative.
  NormalForm logarithm(NormalForm form, const FactSet& context) const;
  /// σ(x) = 1 / (1 + exp(−x)), tanh(x) = 1 − 2 / (1 + exp(2·x)).
  NormalForm in_exponentials(ops::Function function, const NormalForm& form,
                             const FactSet& context);

 private:
  const Atom* base_of(const Summand& summand) const;

  ProofContext proof_;
  const Signs& signs_;
  Simplifier& simplifier_;
};

}  // namespace soapstone::verifier
