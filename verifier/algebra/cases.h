// Case distinctions: f([g]·a + b) = [g]·f(a + b) + [not g]·f(b) for a guard g without binders.
#pragma once

#include <functional>
#include <vector>

#include "verifier/checking/proof_context.h"

namespace soapstone::verifier {

/// The fact and its negation: together they cover all integers, and no two of them overlap.
std::vector<Fact> cases_of(const Fact& fact);

class Cases {
 public:
  using Build = std::function<NormalForm(const std::vector<NormalForm>&, const FactSet&)>;

  explicit Cases(const ProofContext& proof) : proof_(proof) {}

  /// The first guard of a summand that mentions none of its binders and is not known to hold.
  const Fact* outer_guard(const NormalForm& form, const FactSet& context) const;
  /// The form where more is known: implied guards and impossible summands dropped.
  NormalForm under(const NormalForm& form, const FactSet& context) const;
  /// Calls `build` in each case, with forms that have no outer guards there, and adds up the
  /// results.
  NormalForm split(const std::vector<NormalForm>& forms, const FactSet& context,
                   const Build& build);

 private:
  ProofContext proof_;
  int depth_ = 0;
};

}  // namespace soapstone::verifier
