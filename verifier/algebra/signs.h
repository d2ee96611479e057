// Signs of forms: what is certainly never negative, or positive, whatever the values of the inputs.
// sign(a·b) = sign(a)·sign(b), x ≥ 0 implies f(x) ≥ 0 and x ≤ 0 implies f(x) ≤ 0 for functions that
// never fall and keep 0, and a sum of what is not negative is not negative.
#pragma once

#include <optional>
#include <vector>

#include "verifier/algebra/integer_ranges.h"
#include "verifier/checking/proof_context.h"

namespace soapstone::verifier {

/// Σ over i, k of [g(i)]·a(i)·[h(k)]·b(k)·c is (Σ [g]·a)·(Σ [h]·b)·c: the parts that share no
/// binder, each factor without one alone. Guards without binders, and the coefficient, are left
/// out.
std::vector<Summand> components(const Summand& summand);

class Signs {
 public:
  Signs(const ProofContext& proof, const IntegerRanges& ranges) : proof_(proof), ranges_(ranges) {}

  bool non_negative(const NormalForm& form, const FactSet& context) const;
  bool non_negative(const Factor& factor, const FactSet& context) const;
  /// Greater than 0: a product of such factors, or a sum of them over something.
  bool is_positive(const Summand& summand, const FactSet& context) const;
  /// Not negative, and some part of it is positive.
  bool has_positive_part(const NormalForm& form, const FactSet& context) const;

  /// A number that is known to be no less than 0 and otherwise anything.
  NormalForm any_non_negative();
  static bool is_non_negative_read(const Atom& atom) {
    return atom.kind == AtomKind::kRead && atom.tensor >= kFirstNonNegative;
  }

 private:
  /// The sign of a product: that of a number times those of values that may be below 0.
  struct Sign {
    int known = 1;
    std::vector<const Form*> open;  ///< Each once: pairs have canceled.
  };
  std::optional<Sign> sign_of(const Summand& summand, const FactSet& context) const;
  bool is_positive(const Atom& atom, const FactSet& context) const;
  bool is_over_something(const Summand& sum, const FactSet& context) const;

  /// Tensors from here on are no inputs.
  static constexpr std::uint32_t kFirstNonNegative = 1U << 24;

  ProofContext proof_;
  const IntegerRanges& ranges_;
  std::uint32_t next_non_negative_ = 0;
};

}  // namespace soapstone::verifier
