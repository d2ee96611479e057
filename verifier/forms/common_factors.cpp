// See common_factors.h. Binders are told from other symbols by the summand that has them.
#include "verifier/forms/common_factors.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {

NormalForm summand_of(const Atom* atom) {
  Summand summand;
  summand.factors = {{atom, 1}};
  return {std::move(summand)};
}

std::vector<Factor> take_common(NormalForm& form,
                                const std::function<bool(const Factor&)>& wanted) {
  std::vector<Factor> common;
  const auto power_in = [](const Summand& summand, const Atom* atom) {
    for (const Factor& factor : summand.factors) {
      if (factor.atom == atom) return factor.exponent;
    }
    return Fraction(0);
  };
  for (const Summand& summand : form) {
    for (const Factor& factor : summand.factors) {
      const Atom* atom = factor.atom;
      const bool known = std::any_of(common.begin(), common.end(),
                                     [&](const Factor& other) { return other.atom == atom; });
      const bool bound = std::any_of(form.begin(), form.end(), [&](const Summand& each) {
        return std::any_of(atom->free_symbols.begin(), atom->free_symbols.end(),
                           [&](Symbol symbol) { return has(each.binders, symbol); });
      });
      if (known || bound) continue;
      Fraction least = factor.exponent;
      for (const Summand& other : form) least = std::min(least, power_in(other, atom));
      if (!least.is_zero() && wanted({atom, least})) common.push_back({atom, least});
    }
  }
  for (Summand& summand : form) {
    for (const Factor& factor : common) summand.factors.push_back({factor.atom, -factor.exponent});
    summand.factors = Arena::product(std::move(summand.factors));
  }
  return common;
}

Fraction leading_coefficient(Arena& arena, const NormalForm& form) {
  return form.empty() ? Fraction(1) : arena.form(form)->summands[0].coefficient;
}

const Factor* only_factor(const NormalForm& form, AtomKind kind) {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty() ||
      form[0].factors.size() != 1 || form[0].factors[0].exponent != Fraction(1) ||
      form[0].factors[0].atom->kind != kind || form[0].coefficient.sign() <= 0) {
    return nullptr;
  }
  return &form[0].factors[0];
}

bool is_product(const NormalForm& form) {
  return form.size() == 1 && form[0].binders.empty() && form[0].guards.empty();
}

}  // namespace soapstone::verifier
