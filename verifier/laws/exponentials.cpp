// See exponentials.h. The argument that leads with a positive coefficient stands for both x and −x.
#include "verifier/laws/exponentials.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

}  // namespace

/// The t of log(t), or exp of the whole.
const Atom* Exponentials::base_of(const Summand& summand) const {
  const NormalForm whole{summand};
  const Factor* log = only_factor(whole, AtomKind::kApply);
  if (log != nullptr && log->atom->function == Function::kLog) {
    const NormalForm inside = proof_.arena.open(log->atom->arguments[0]);
    if (inside.size() == 1 && inside[0] == Summand{1, {}, {}, inside[0].factors} &&
        inside[0].factors.size() == 1 && inside[0].factors[0].exponent == Fraction(1) &&
        signs_.non_negative(inside, {})) {
      return inside[0].factors[0].atom;
    }
  }
  return proof_.arena.apply(Function::kExp, {proof_.arena.form(whole)});
}

NormalForm Exponentials::exponential(const NormalForm& form) const {
  Summand product;
  for (const Summand& summand : form) {
    Summand base = summand;
    base.coefficient = 1;
    product.factors.push_back({base_of(base), summand.coefficient});
  }
  product.factors = Arena::product(std::move(product.factors));
  return {std::move(product)};
}

std::optional<NormalForm> Exponentials::exponent_of(const NormalForm& form) const {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty() ||
      form[0].coefficient != Fraction(1)) {
    return std::nullopt;
  }
  NormalForm sum;
  for (const Factor& factor : form[0].factors) {
    if (factor.atom->kind != AtomKind::kApply || factor.atom->function != Function::kExp) {
      return std::nullopt;
    }
    for (Summand& summand : scaled(proof_.arena.open(factor.atom->arguments[0]), factor.exponent)) {
      sum.push_back(std::move(summand));
    }
  }
  return collected(std::move(sum));
}

NormalForm Exponentials::logarithm(NormalForm form, const FactSet& context) const {
  if (auto exponent = exponent_of(form)) return *std::move(exponent);
  form = collected(std::move(form));
  const auto log_of = [&](NormalForm inside) {
    return summand_of(proof_.arena.apply(Function::kLog, {proof_.arena.form(std::move(inside))}));
  };
  if (!signs_.non_negative(form, context)) return log_of(std::move(form));
  NormalForm result;
  const auto add = [&](const NormalForm& part, const Fraction& times) {
    for (const Summand& summand : part) {
      result.push_back(summand);
      result.back().coefficient = summand.coefficient * times;
    }
  };
  for (const Factor& factor : take_common(form, [&](const Factor& f) {
         return signs_.non_negative({f.atom, 1}, context);
       })) {
    const Atom& atom = *factor.atom;
    if (atom.kind == AtomKind::kApply && atom.function == Function::kExp) {
      add(proof_.arena.open(atom.arguments[0]), factor.exponent);
    } else if (atom.kind == AtomKind::kReciprocal) {
      add(logarithm(proof_.arena.open(atom.arguments[0]), context), -factor.exponent);
    } else {
      add(log_of({Summand{1, {}, {}, {{factor.atom, 1}}}}), factor.exponent);
    }
  }
  const Fraction scale = leading_coefficient(proof_.arena, form).magnitude();
  form = scaled(std::move(form), scale.inverse());
  if (scale != Fraction(1)) add(log_of(constant(scale)), 1);
  if (as_constant(form) != Fraction(1)) add(log_of(std::move(form)), 1);
  return collected(std::move(result));
}

NormalForm Exponentials::in_exponentials(Function function, const NormalForm& form,
                                         const FactSet& context) {
  const bool sigmoid = function == Function::kSigmoid;
  // σ(−x) = 1 − σ(x): the argument that leads with a positive coefficient stands for both.
  if (sigmoid && leading_coefficient(proof_.arena, form).sign() < 0) {
    return sum_of(constant(1), negated(in_exponentials(function, negated(form), context)));
  }
  const NormalForm power = exponential(scaled(form, sigmoid ? -1 : 2));
  const NormalForm inverse = simplifier_.reciprocal(sum_of(constant(1), power), context);
  return sigmoid ? inverse : sum_of(constant(1), scaled(inverse, -2));
}

}  // namespace soapstone::verifier
