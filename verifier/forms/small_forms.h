// Forms that are a number or an integer, and sums of forms.
#pragma once

#include <optional>
#include <utility>

#include "verifier/forms/arena.h"

namespace soapstone::verifier {

inline NormalForm constant(const Fraction& value) {
  if (value.is_zero()) return {};
  return {Summand{value, {}, {}, {}}};
}

inline std::optional<Fraction> as_constant(const NormalForm& form) {
  if (form.empty()) return Fraction(0);
  if (form.size() == 1 && form[0].factors.empty() && form[0].guards.empty() &&
      form[0].binders.empty()) {
    return form[0].coefficient;
  }
  return std::nullopt;
}

/// The form as an integer expression in symbols, if it is one.
inline std::optional<Linear> as_integer(const NormalForm& form) {
  Linear result;
  for (const Summand& summand : form) {
    if (!summand.coefficient.is_integer() || !summand.guards.empty() || !summand.binders.empty()) {
      return std::nullopt;
    }
    Linear product = summand.coefficient.numerator();
    for (const Factor& factor : summand.factors) {
      if (factor.atom->kind != AtomKind::kIndex || !factor.exponent.is_integer() ||
          factor.exponent.sign() < 0) {
        return std::nullopt;
      }
      for (std::int64_t k = factor.exponent.numerator(); k > 0; --k) {
        product = product * factor.atom->index[0];
      }
    }
    result = result + product;
  }
  return result;
}

inline NormalForm sum_of(NormalForm a, const NormalForm& b) {
  a.insert(a.end(), b.begin(), b.end());
  return collected(std::move(a));
}

inline NormalForm negated(NormalForm form) { return scaled(std::move(form), -1); }

}  // namespace soapstone::verifier
