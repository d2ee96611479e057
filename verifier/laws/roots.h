// √(a·b) = √a·√b for a, b ≥ 0, √(a²) = |a|, and |a·b| = |a|·|b|.
#pragma once

#include <optional>

#include "verifier/algebra/signs.h"

namespace soapstone::verifier {

class Roots {
 public:
  Roots(const ProofContext& proof, const Signs& signs) : proof_(proof), signs_(signs) {}

  /// |c·Π aᵢ^kᵢ| = |c|·Π |aᵢ|^kᵢ
  std::optional<NormalForm> magnitude_of_product(const NormalForm& form,
                                                 const FactSet& context) const;
  /// √(Π aᵢ^kᵢ) = Π |aᵢ|^(kᵢ/2) for even kᵢ, Π aᵢ^(kᵢ/2) for aᵢ = exp(…), and Π √aᵢ^kᵢ for aᵢ that
  /// are never negative.
  std::optional<NormalForm> root_of_product(const NormalForm& form, const FactSet& context) const;
  /// √(c·x) = √c·√x for a number c > 0, and √(n/d) = s/d·√r where n·d = s²·r.
  std::optional<NormalForm> root_of_scaled(const NormalForm& form) const;

 private:
  const Atom* magnitude(const Atom* atom) const;

  ProofContext proof_;
  const Signs& signs_;
};

}  // namespace soapstone::verifier
