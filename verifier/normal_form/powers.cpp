// Powers, roots, exponentials and logarithms.
#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

using ops::Function;

constexpr std::int64_t kLargestPower = 8;

}  // namespace

/// σ(x) = 1 / (1 + exp(−x)), tanh(x) = 1 − 2 / (1 + exp(2·x)).
NormalForm Normalizer::in_exponentials(Function function, const NormalForm& form,
                                       const FactSet& context) {
  const bool sigmoid = function == Function::kSigmoid;
  // σ(−x) = 1 − σ(x): the argument that leads with a positive coefficient stands for both.
  if (sigmoid && leading_coefficient(form).sign() < 0) {
    return sum_of(constant(1), negated(in_exponentials(function, negated(form), context)));
  }
  const NormalForm power = exponential(scaled(form, sigmoid ? -1 : 2));
  const NormalForm inverse = reciprocal(sum_of(constant(1), power), context);
  return sigmoid ? inverse : sum_of(constant(1), scaled(inverse, -2));
}

/// log(Π exp(tᵢ)^cᵢ) = Σ cᵢ·tᵢ
std::optional<NormalForm> Normalizer::logarithm(const NormalForm& form) {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty() ||
      form[0].coefficient != Fraction(1)) {
    return std::nullopt;
  }
  NormalForm sum;
  for (const Factor& factor : form[0].factors) {
    if (factor.atom->kind != AtomKind::kApply || factor.atom->function != Function::kExp) {
      return std::nullopt;
    }
    for (Summand& summand : scaled(arena_.open(factor.atom->arguments[0]), factor.exponent)) {
      sum.push_back(std::move(summand));
    }
  }
  return collected(std::move(sum));
}

/// log(c·Π aᵢ^kᵢ·rest) = log(c) + Σ kᵢ·log(aᵢ) + log(rest) for aᵢ that are never negative.
NormalForm Normalizer::logarithm_of_whole(NormalForm form, const FactSet& context) {
  if (auto exponent = logarithm(form)) return *std::move(exponent);
  form = collected(std::move(form));
  const auto log_of = [&](NormalForm inside) {
    return summand_of(arena_.apply(Function::kLog, {arena_.form(std::move(inside))}));
  };
  if (!non_negative(form, context)) return log_of(std::move(form));
  NormalForm result;
  const auto add = [&](const NormalForm& part, const Fraction& times) {
    for (const Summand& summand : part) {
      result.push_back(summand);
      result.back().coefficient = summand.coefficient * times;
    }
  };
  for (const Factor& factor : take_common(form, [&](const Factor& f) {
         return non_negative({f.atom, 1}, context);
       })) {
    const Atom& atom = *factor.atom;
    if (atom.kind == AtomKind::kApply && atom.function == Function::kExp) {
      add(arena_.open(atom.arguments[0]), factor.exponent);
    } else if (atom.kind == AtomKind::kReciprocal) {
      add(logarithm_of_whole(arena_.open(atom.arguments[0]), context), -factor.exponent);
    } else {
      add(log_of({Summand{1, {}, {}, {{factor.atom, 1}}}}), factor.exponent);
    }
  }
  const Fraction scale = leading_coefficient(form);
  form = scaled(std::move(form), scale.inverse());
  if (scale != Fraction(1)) add(log_of(constant(scale)), 1);
  if (as_constant(form) != Fraction(1)) add(log_of(std::move(form)), 1);
  return collected(std::move(result));
}

/// |c·Π aᵢ^kᵢ| = |c|·Π |aᵢ|^kᵢ
std::optional<NormalForm> Normalizer::magnitude_of_product(const NormalForm& form,
                                                           const FactSet& context) {
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
    if (!non_negative(factor, context)) {
      atom = arena_.apply(Function::kAbs, {arena_.form({Summand{1, {}, {}, {{atom, 1}}}})});
    }
    result.factors.push_back({atom, factor.exponent});
  }
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

/// √(Π aᵢ^kᵢ) = Π |aᵢ|^(kᵢ/2) for even kᵢ, Π aᵢ^(kᵢ/2) for aᵢ = exp(…), and Π √aᵢ^kᵢ for aᵢ that
/// are never negative.
std::optional<NormalForm> Normalizer::root_of_product(const NormalForm& form,
                                                      const FactSet& context) {
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
      if (alone || !factor.exponent.is_integer() || !non_negative({atom, 1}, context)) {
        return std::nullopt;
      }
      const Form* base = arena_.form({Summand{1, {}, {}, {{atom, 1}}}});
      result.factors.push_back({arena_.apply(Function::kSqrt, {base}), factor.exponent});
      continue;
    }
    if (!non_negative({atom, 1}, context)) {
      atom = arena_.apply(Function::kAbs, {arena_.form({Summand{1, {}, {}, {{atom, 1}}}})});
    }
    result.factors.push_back({atom, factor.exponent * Fraction(1, 2)});
  }
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

/// √(c·x) = √c·√x for a number c > 0, and √(n/d) = s/d·√r where n·d = s²·r.
std::optional<NormalForm> Normalizer::root_of_scaled(const NormalForm& form) {
  const Fraction scale = leading_coefficient(form).magnitude();
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
    result.factors.push_back({arena_.apply(Function::kSqrt, {arena_.form(std::move(each))}), 1});
  };
  if (rest != 1) root(constant(rest));
  if (!is_number) root(inside);
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

/// exp(Σ cᵢ·tᵢ) = Π exp(tᵢ)^cᵢ, and exp(log(t)) = t for t that is never negative.
NormalForm Normalizer::exponential(const NormalForm& form) {
  Summand product;
  for (const Summand& summand : form) {
    Summand base = summand;
    base.coefficient = 1;
    const Atom* atom = nullptr;
    const NormalForm whole{base};
    if (const Factor* log = only_factor(whole, AtomKind::kApply);
        log != nullptr && log->atom->function == Function::kLog) {
      const NormalForm inside = arena_.open(log->atom->arguments[0]);
      if (inside.size() == 1 && inside[0] == Summand{1, {}, {}, inside[0].factors} &&
          inside[0].factors.size() == 1 && inside[0].factors[0].exponent == Fraction(1) &&
          non_negative(inside, {})) {
        atom = inside[0].factors[0].atom;
      }
    }
    if (atom == nullptr) atom = arena_.apply(Function::kExp, {arena_.form({std::move(base)})});
    product.factors.push_back({atom, summand.coefficient});
  }
  product.factors = Arena::product(std::move(product.factors));
  return {std::move(product)};
}

/// x^k for a small integer k; x^½ is a root.
std::optional<NormalForm> Normalizer::small_power(const std::vector<NormalForm>& arguments,
                                                  const FactSet& context) {
  const auto exponent = as_constant(arguments[1]);
  if (!exponent) return std::nullopt;
  if (exponent->denominator() == 2) {
    const NormalForm root = apply_to_whole(Function::kSqrt, {arguments[0]}, context);
    return small_power({root, constant(*exponent * Fraction(2))}, context);
  }
  if (!exponent->is_integer() || exponent->magnitude() > Fraction(kLargestPower)) {
    return std::nullopt;
  }
  NormalForm result = constant(1);
  for (std::int64_t k = exponent->magnitude().numerator(); k > 0; --k) {
    result = product(result, arguments[0], context);
  }
  if (exponent->sign() >= 0) return result;
  return reciprocal(result, context);
}

}  // namespace soapstone::verifier
