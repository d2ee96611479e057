// The laws of functions. Each is stated where it is applied, with its condition.
#include <algorithm>
#include <utility>

#include "verifier/normalizer.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

constexpr std::int64_t kLargestPower = 8;

NormalForm constant(const Fraction& value) {
  if (value.is_zero()) return {};
  return {Term{value, {}, {}, {}}};
}

std::optional<Fraction> as_constant(const NormalForm& form) {
  if (form.empty()) return Fraction(0);
  if (form.size() == 1 && form[0].factors.empty() && form[0].guards.empty() &&
      form[0].binders.empty()) {
    return form[0].coefficient;
  }
  return std::nullopt;
}

bool is_boolean(Function function) {
  return function == Function::kLess || function == Function::kEqual ||
         function == Function::kIsZero;
}

NormalForm sum_of(NormalForm a, const NormalForm& b) {
  a.insert(a.end(), b.begin(), b.end());
  return collected(std::move(a));
}

NormalForm negated(NormalForm form) { return scaled(std::move(form), -1); }

/// Functions whose values at rational numbers are rational.
std::optional<Fraction> value_at(Function function, const std::vector<Fraction>& x) {
  switch (function) {
  case Function::kRelu:
    return x[0].sign() > 0 ? x[0] : Fraction(0);
  case Function::kAbs:
    return x[0].magnitude();
  case Function::kLess:
    return Fraction(x[0] < x[1] ? 1 : 0);
  case Function::kEqual:
    return Fraction(x[0] == x[1] ? 1 : 0);
  case Function::kIsZero:
    return Fraction(x[0].is_zero() ? 1 : 0);
  case Function::kSelect:
    return x[0].is_zero() ? x[2] : x[1];
  default:
    return std::nullopt;
  }
}

}  // namespace

NormalForm Normalizer::apply(Function function, const std::vector<NormalForm>& arguments,
                             const FactSet& context) {
  return by_cases(arguments, context, [this, function](const auto& forms, const FactSet& inside) {
    return apply_to_whole(function, forms, inside);
  });
}

NormalForm Normalizer::apply_to_whole(Function function, std::vector<NormalForm> arguments,
                                      const FactSet& context) {
  std::vector<Fraction> numbers;
  for (NormalForm& argument : arguments) {
    argument = collected(std::move(argument));
    if (const auto number = as_constant(argument)) numbers.push_back(*number);
  }
  if (numbers.size() == arguments.size()) {
    if (const auto value = value_at(function, numbers)) return constant(*value);
  }
  const NormalForm& x = arguments[0];
  const ops::FunctionProperties& law = ops::properties(function);
  if (law.zero_preserving && law.arity == 1 && x.empty()) return {};
  if (function == Function::kExp) return exponential(x);
  if (function == Function::kRelu) return relu_of_whole(x, context);
  if (function == Function::kSelect) return select(arguments, context);
  if (function == Function::kPow) {
    if (auto power = small_power(arguments, context)) return *std::move(power);
  }
  if (function == Function::kAbs && non_negative(x, context)) return x;
  if (function == Function::kLog) {
    if (auto exponent = logarithm(x)) return *std::move(exponent);
  }
  if (const Factor* inner = only_factor(x, AtomKind::kApply);
      law.idempotent && inner != nullptr && x[0].coefficient == Fraction(1) &&
      inner->atom->function == function) {
    return x;
  }
  if (law.arity == 1 && law.monotone) {
    if (auto result = into_maximum(function, x, context)) return *std::move(result);
  }
  if (expand_functions_ && (function == Function::kSigmoid || function == Function::kTanh)) {
    return in_exponentials(function, x, context);
  }
  met_expandable_ = met_expandable_ || function == Function::kSigmoid || function == Function::kTanh;
  // f(−x) = ∓f(x): the argument that leads with a positive coefficient stands for both.
  if (law.arity == 1 && (law.odd || law.even) && leading_coefficient(x).sign() < 0) {
    NormalForm result = apply_to_whole(function, {negated(x)}, context);
    return law.odd ? negated(std::move(result)) : result;
  }
  std::vector<const Form*> forms;
  for (NormalForm& argument : arguments) forms.push_back(arena_.form(std::move(argument)));
  return atom_term(arena_.apply(function, std::move(forms)));
}

/// f(c·max(a, b)) = max(f(c·a), f(c·b)) for c > 0 and f that never falls; for c < 0 a minimum,
/// which is −max of the negated.
std::optional<NormalForm> Normalizer::into_maximum(Function function, const NormalForm& form,
                                                   const FactSet& context) {
  if (form.size() != 1) return std::nullopt;
  const Fraction scale = form[0].coefficient;
  const NormalForm unit = scaled(form, scale.inverse());
  const Factor* factor = only_factor(unit, AtomKind::kMax);
  if (factor == nullptr) return std::nullopt;
  std::vector<OpenPiece> pieces = open(factor->atom);
  for (OpenPiece& piece : pieces) {
    piece.body = apply(function, {scaled(piece.body, scale)}, unite(context, piece.guards));
    if (scale.sign() < 0) piece.body = negated(std::move(piece.body));
  }
  NormalForm result = maximum(std::move(pieces), context);
  return scale.sign() < 0 ? negated(std::move(result)) : result;
}

/// σ(x) = 1 / (1 + exp(−x)), tanh(x) = 1 − 2 / (1 + exp(2·x)).
NormalForm Normalizer::in_exponentials(Function function, const NormalForm& form,
                                       const FactSet& context) {
  const bool sigmoid = function == Function::kSigmoid;
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
    for (Term& term : scaled(arena_.open(factor.atom->arguments[0]), factor.exponent)) {
      sum.push_back(std::move(term));
    }
  }
  return collected(std::move(sum));
}

/// exp(Σ cᵢ·tᵢ) = Π exp(tᵢ)^cᵢ
NormalForm Normalizer::exponential(const NormalForm& form) {
  Term product;
  for (const Term& term : form) {
    Term base = term;
    base.coefficient = 1;
    product.factors.push_back(
        {arena_.apply(Function::kExp, {arena_.form({std::move(base)})}), term.coefficient});
  }
  product.factors = Arena::product(std::move(product.factors));
  return {std::move(product)};
}

/// With z = [c is 0], select(c, a, b) = a + z·(b − a).
NormalForm Normalizer::select(const std::vector<NormalForm>& arguments, const FactSet& context) {
  const NormalForm& condition = arguments[0];
  const Factor* factor = only_factor(condition, AtomKind::kApply);
  NormalForm is_zero;
  if (factor != nullptr && condition[0].coefficient == Fraction(1) &&
      is_boolean(factor->atom->function)) {
    is_zero = sum_of(constant(1), negated(condition));
  } else {
    is_zero = apply_to_whole(Function::kIsZero, {condition}, context);
  }
  const NormalForm difference = sum_of(arguments[2], negated(arguments[1]));
  return sum_of(arguments[1], product(is_zero, difference, context));
}

/// x^k for a small integer k; x^½ is a root.
std::optional<NormalForm> Normalizer::small_power(const std::vector<NormalForm>& arguments,
                                                  const FactSet& context) {
  const auto exponent = as_constant(arguments[1]);
  if (!exponent) return std::nullopt;
  if (*exponent == Fraction(1, 2)) {
    return apply_to_whole(Function::kSqrt, {arguments[0]}, context);
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

NormalForm Normalizer::relu_of_whole(const NormalForm& form, const FactSet& context) {
  if (form.empty() || non_negative(form, context)) return form;
  if (non_negative(negated(form), context)) return {};
  // relu(c·max(…)) = c·max(…, 0) for c > 0
  if (const Factor* factor = only_factor(form, AtomKind::kMax)) {
    std::vector<OpenPiece> pieces = open(factor->atom);
    pieces.push_back({});
    return scaled(maximum(std::move(pieces), context), form[0].coefficient);
  }
  // relu(c·a·x) = c·a·relu(x) for c, a ≥ 0
  if (form.size() == 1 && form[0].binders.empty() && form[0].guards.empty()) {
    Term outside;
    Term inside;
    outside.coefficient = form[0].coefficient.magnitude();
    inside.coefficient = Fraction(form[0].coefficient.sign());
    for (const Factor& factor : form[0].factors) {
      (non_negative(factor, context) ? outside : inside).factors.push_back(factor);
    }
    if (outside.coefficient != Fraction(1) || !outside.factors.empty()) {
      return product({outside}, relu_of_whole({inside}, context), context);
    }
  } else if (const Fraction scale = leading_coefficient(form).magnitude(); scale != Fraction(1)) {
    return scaled(relu_of_whole(scaled(form, scale.inverse()), context), scale);
  }
  return atom_term(arena_.apply(Function::kRelu, {arena_.form(form)}));
}

}  // namespace soapstone::verifier
