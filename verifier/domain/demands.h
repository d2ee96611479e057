// Demands that 1/x, √x, log and indices make on their arguments. A product is not 0 where no factor
// is; a form that is certainly positive demands nothing.
#pragma once

#include <utility>
#include <vector>

#include "verifier/algebra/cases.h"
#include "verifier/algebra/selectors.h"
#include "verifier/algebra/signs.h"
#include "verifier/digits/digits.h"
#include "verifier/domain/domain.h"

namespace soapstone::verifier {

class Demands {
 public:
  Demands(const ProofContext& proof, const Signs& signs, const Cases& cases,
          const Selectors& selectors, const IndexDigits& digits)
      : proof_(proof), signs_(signs), cases_(cases), selectors_(selectors), digits_(digits) {}

  /// While this lives, demands are noted in the domain.
  class Noting {
   public:
    Noting(Demands& demands, Domain& domain) : demands_(demands) { demands_.domain_ = &domain; }
    ~Noting() { demands_.domain_ = nullptr; }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;

   private:
    Demands& demands_;
  };
  /// While this lives, what is evaluated is one branch of a choice.
  class InChoice {
   public:
    InChoice(Demands& demands, Choice choice) : demands_(demands) {
      demands_.choices_.push_back(std::move(choice));
    }
    ~InChoice() { demands_.choices_.pop_back(); }
    InChoice(const InChoice&) = delete;
    InChoice& operator=(const InChoice&) = delete;

   private:
    Demands& demands_;
  };

  /// √x demands x ≥ 0, log x demands x ≥ 0 and x ≠ 0, and 1/x (as x^−1, so kPow) x ≠ 0.
  void note(ops::Function function, const NormalForm& argument, const FactSet& context);
  /// x^k for an integer k ≥ 0 has values everywhere, for k < 0 where x is not 0; other powers where
  /// x is positive. Where exponents are no numbers this depends on them.
  void note_power(const std::vector<NormalForm>& arguments, const FactSet& context);
  /// An operator demands low ≤ value < high. `of_all`: it may be noted that more is demanded; true:
  /// it was.
  bool note_range(const NormalForm& value, const Linear& low, const Linear& high,
                  const FactSet& context, bool of_all);

  bool is_never_zero(const NormalForm& form, const FactSet& context) const;
  /// The quotient is by a count of an operator's own, which its shape constraints keep from being
  /// 0.
  void note_counts(const NormalForm& quotient);
  bool is_count(const Atom* reciprocal) const;

 private:
  void require(Demand demand, const NormalForm& form, const FactSet& context);
  void require_factors(const Summand& product, const FactSet& context);
  bool is_at_least(const NormalForm& form, std::int64_t least, const FactSet& context) const;
  void add(Demand demand, const NormalForm& form, const FactSet& context);

  ProofContext proof_;
  const Signs& signs_;
  const Cases& cases_;
  const Selectors& selectors_;
  const IndexDigits& digits_;
  Domain* domain_ = nullptr;
  std::vector<Choice> choices_;  ///< Around what is evaluated.
  std::vector<const Atom*> counts_;
};

}  // namespace soapstone::verifier
