// Products of forms, and reciprocals: see simplifier.h.
#include "verifier/algebra/simplifier.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMaxSummands = 3000;

NormalForm limited(NormalForm form) {
  if (form.size() > kMaxSummands) throw OutOfBudget{"too many terms"};
  return form;
}

}  // namespace

NormalForm Simplifier::product(const NormalForm& a, const NormalForm& b, const FactSet& context) {
  NormalForm result;
  for (const Summand& x : a) {
    for (const Summand& y : b) {
      const bool clash = std::any_of(x.binders.begin(), x.binders.end(),
                                     [&](Symbol symbol) { return has(y.binders, symbol); });
      const Summand& other = clash ? proof_.arena.refreshed(y) : y;
      Summand summand;
      summand.coefficient = x.coefficient * other.coefficient;
      summand.guards = unite(x.guards, other.guards);
      summand.binders = x.binders;
      summand.binders.insert(summand.binders.end(), other.binders.begin(), other.binders.end());
      summand.factors = x.factors;
      summand.factors.insert(summand.factors.end(), other.factors.begin(), other.factors.end());
      summand.factors = Arena::product(std::move(summand.factors));
      for (Summand& part : simplify(std::move(summand), context)) result.push_back(std::move(part));
    }
    if (result.size() > kMaxSummands) result = limited(collected(std::move(result)));
  }
  return limited(collected(std::move(result)));
}

NormalForm Simplifier::reciprocal(const NormalForm& form, const FactSet& context) {
  return cases_.split({form}, context, [this](const auto& forms, const FactSet& inside) {
    return reciprocal_of_whole(forms[0], inside);
  });
}

/// 1 / (c·a·(rest)) = c⁻¹·a⁻¹·(1 / rest) for what all summands have in common.
NormalForm Simplifier::reciprocal_of_whole(NormalForm form, const FactSet& context) {
  form = collected(std::move(form));
  if (form.empty()) throw OutOfBudget{"division by zero"};
  Summand outside;
  for (const Factor& factor : take_common(form, [](const Factor&) { return true; })) {
    outside.factors.push_back({factor.atom, -factor.exponent});
  }
  const Fraction leading = leading_coefficient(proof_.arena, form);
  outside.coefficient = leading.inverse();
  const bool is_one = form.size() == 1 && form[0].factors.empty() && form[0].binders.empty() &&
                      form[0].guards.empty();
  if (!is_one) {
    outside.factors.push_back(
        {proof_.arena.reciprocal(proof_.arena.form(scaled(std::move(form), leading.inverse()))),
         1});
  }
  outside.factors = Arena::product(std::move(outside.factors));
  return simplify(std::move(outside), context);
}

}  // namespace soapstone::verifier
