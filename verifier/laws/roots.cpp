// See roots.h. The root of a single atom stays as it is: that is where splitting ends.
#include "verifier/laws/roots.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

}  // namespace

/// |a|
const Atom* Roots::magnitude(const Atom* atom) const {
  return proof_.arena.apply(ops::Function::kAbs, {proof_.arena.form(summand_of(atom))});
}

std::optional<NormalForm> Roots::magnitude_of_product(const NormalForm& form,
                                                      const FactSet& context) const {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty()) return std::nullopt;
  const std::vector<Factor>& factors = form[0].factors;
  if (factors.size() == 1 && form[0].coefficient == Fraction(1) &&
      factors[0].exponent == Fraction(1)) {
    return std::nullopt;
  }
  Summand result;
  result.coefficient = form[0].coefficient.magnitude();
  for (const Factor& factor : factors) {
    const Atom* atom = factor.atom;
    if (!signs_.non_negative(factor, context)) {
      atom = magnitude(atom);
    }
    result.factors.push_back({atom, factor.exponent});
  }
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

std::optional<NormalForm> Roots::root_of_product(const NormalForm& form,
                                                 const FactSet& context) const {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty() ||
      form[0].coefficient != Fraction(1) || form[0].factors.empty()) {
    return std::nullopt;
  }
  Summand result;
  const bool alone = form[0].factors.size() == 1 && form[0].factors[0].exponent == Fraction(1);
  for (const Factor& factor : form[0].factors) {
    const bool exponential =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == Function::kExp;
    const Atom* atom = factor.atom;
    if (!exponential && !factor.exponent.is_even()) {
      if (alone || !factor.exponent.is_integer() || !signs_.non_negative({atom, 1}, context)) {
        return std::nullopt;
      }
      const Form* base = proof_.arena.form({Summand{1, {}, {}, {{atom, 1}}}});
      result.factors.push_back({proof_.arena.apply(Function::kSqrt, {base}), factor.exponent});
      continue;
    }
    if (!signs_.non_negative({atom, 1}, context)) {
      atom = magnitude(atom);
    }
    result.factors.push_back({atom, factor.exponent * Fraction(1, 2)});
  }
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

std::optional<NormalForm> Roots::root_of_scaled(const NormalForm& form) const {
  const Fraction scale = leading_coefficient(proof_.arena, form).magnitude();
  std::int64_t rest = 0;
  if (scale == Fraction(1) || scale.is_zero() ||
      __builtin_mul_overflow(scale.numerator(), scale.denominator(), &rest)) {
    return std::nullopt;
  }
  std::int64_t outside = 1;
  constexpr std::int64_t kLargestDivisor = 1000;
  for (std::int64_t k = 2; k <= kLargestDivisor && k * k <= rest; ++k) {
    for (; rest % (k * k) == 0; rest /= k * k) outside *= k;
  }
  const NormalForm inside = scaled(form, scale.inverse());
  const bool is_number = as_constant(inside) == Fraction(1);
  if (is_number && outside == 1 && scale == Fraction(rest)) return std::nullopt;
  Summand result;
  result.coefficient = Fraction(outside, scale.denominator());
  const auto root = [&](NormalForm each) {
    result.factors.push_back(
        {proof_.arena.apply(Function::kSqrt, {proof_.arena.form(std::move(each))}), 1});
  };
  if (rest != 1) root(constant(rest));
  if (!is_number) root(inside);
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

}  // namespace soapstone::verifier
