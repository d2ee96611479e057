// Sums and products: a·(b + c) = a·b + a·c, Σ over low ≤ v < high of c = (high − low)·c, the
// weights of an interpolation are 1 in sum, and 1/(c·a·x) = c⁻¹·a⁻¹·1/x. Equations are solved and
// impossible summands dropped.
#pragma once

#include <optional>

#include "verifier/algebra/cases.h"
#include "verifier/algebra/expansion.h"
#include "verifier/algebra/powers.h"
#include "verifier/algebra/selectors.h"
#include "verifier/algebra/signs.h"
#include "verifier/forms/equations.h"

namespace soapstone::verifier {

class Simplifier {
 public:
  Simplifier(const ProofContext& proof, const IntegerRanges& ranges, const Signs& signs,
             Cases& cases, const Selectors& selectors, Expansion& expansion)
      : proof_(proof), signs_(signs), cases_(cases), selectors_(selectors), powers_(proof, ranges),
        expansion_(expansion) {}

  /// The summand as a sum of simpler ones, equal to it wherever the context holds.
  NormalForm simplify(Summand summand, const FactSet& context);
  NormalForm product(const NormalForm& a, const NormalForm& b, const FactSet& context);
  NormalForm reciprocal(const NormalForm& form, const FactSet& context);
  /// The sum over a binder that goes through few numbers, written out; none if there is no such.
  std::optional<NormalForm> written_out(const Summand& summand, const FactSet& context);

 private:
  std::optional<NormalForm> without_square_of_root(const Summand& summand, const FactSet& context);
  std::optional<NormalForm> without_inverse_of_inverse(const Summand& summand,
                                                       const FactSet& context);
  std::optional<NormalForm> without_free_binder(const Summand& summand, const FactSet& context);
  std::optional<NormalForm> without_interpolation(const Summand& summand, const FactSet& context);
  bool is_at_least(const NormalForm& form, const Linear& low, const FactSet& context);
  bool is_clamped(const NormalForm& form, const Linear& low, const Linear& high,
                  const FactSet& context);
  std::optional<Linear> count_of(const SymbolBounds& bounds, const FactSet& context) const;
  NormalForm reciprocal_of_whole(NormalForm form, const FactSet& context);
  NormalForm simplified(NormalForm summands, const FactSet& context);

  ProofContext proof_;
  const Signs& signs_;
  Cases& cases_;
  const Selectors& selectors_;
  Powers powers_;
  Expansion& expansion_;
};

}  // namespace soapstone::verifier
