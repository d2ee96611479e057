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

/// The form as an integer expression in symbols, if it is one.
std::optional<Linear> as_integer(const NormalForm& form) {
  Linear result;
  for (const Term& term : form) {
    if (!term.coefficient.is_integer() || !term.guards.empty() || !term.binders.empty()) {
      return std::nullopt;
    }
    Linear product = term.coefficient.numerator();
    for (const Factor& factor : term.factors) {
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

bool rounds_to_integer(Function function) {
  return function == Function::kFloor || function == Function::kCeil ||
         function == Function::kRound || function == Function::kTruncate;
}

bool in(const std::vector<std::uint32_t>& tensors, std::uint32_t tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

bool is_truth_value(Function function) {
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

/// 1 where the fact holds, else 0.
NormalForm Normalizer::where(const Fact& fact, const FactSet& context) {
  Term term;
  term.guards = {fact};
  return simplify(std::move(term), context);
}

/// Comparisons of integers are guards. A number that is 0 or 1 is 0 where it is not 1.
std::optional<NormalForm> Normalizer::decided(Function function,
                                              const std::vector<NormalForm>& arguments,
                                              const FactSet& context) {
  if (!is_truth_value(function)) return std::nullopt;
  if (function == Function::kIsZero) {
    const Factor* read = only_factor(arguments[0], AtomKind::kRead);
    if (read != nullptr && arguments[0][0].coefficient == Fraction(1) && is_boolean(*read->atom)) {
      return sum_of(constant(1), negated(arguments[0]));
    }
  }
  const auto x = as_integer(arguments[0]);
  const auto y = arguments.size() == 2 ? as_integer(arguments[1]) : Linear(0);
  if (!x || !y) return std::nullopt;
  return where(function == Function::kLess ? less(*x, *y) : equal(*x, *y), context);
}

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
  if (auto known = decided(function, arguments, context)) return *std::move(known);
  const NormalForm& x = arguments[0];
  const ops::FunctionProperties& law = ops::properties(function);
  if (rounds_to_integer(function)) {
    const Factor* read = only_factor(x, AtomKind::kRead);
    const bool integer =
        read != nullptr && x[0].coefficient.is_integer() && in(integers_, read->atom->tensor);
    if (integer) return x;
  }
  if (law.zero_preserving && law.arity == 1 && x.empty()) return {};
  if (function == Function::kExp) return exponential(x);
  if (function == Function::kSqrt) {
    if (auto root = root_of_product(x, context)) return *std::move(root);
    if (auto root = root_of_scaled(x)) return *std::move(root);
  }
  if (function == Function::kRelu) return relu_of_whole(x, context);
  if (function == Function::kSelect) return select(arguments, context);
  if (function == Function::kPow) {
    if (auto power = small_power(arguments, context)) return *std::move(power);
  }
  if (function == Function::kAbs) {
    if (non_negative(x, context)) return x;
    if (auto product = magnitude_of_product(x, context)) return *std::move(product);
  }
  if (function == Function::kCeil) {
    return negated(apply_to_whole(Function::kFloor, {negated(x)}, context));
  }
  if (function == Function::kLog) return logarithm_of_whole(x, context);
  if (const Factor* inner = only_factor(x, AtomKind::kApply); law.idempotent && inner != nullptr &&
                                                              x[0].coefficient == Fraction(1) &&
                                                              inner->atom->function == function) {
    return x;
  }
  if (law.arity == 1 && law.monotone) {
    if (auto result = into_maximum(function, x, context)) return *std::move(result);
  }
  if (function == Function::kSigmoid || function == Function::kTanh) {
    if (is_expanding_) return in_exponentials(function, x, context);
    met_expandable_ = true;
  }
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

/// log(c·Π aᵢ^kᵢ·rest) = log(c) + Σ kᵢ·log(aᵢ) + log(rest) for aᵢ that are never negative.
NormalForm Normalizer::logarithm_of_whole(NormalForm form, const FactSet& context) {
  if (auto exponent = logarithm(form)) return *std::move(exponent);
  form = collected(std::move(form));
  const auto log_of = [&](NormalForm inside) {
    return atom_term(arena_.apply(Function::kLog, {arena_.form(std::move(inside))}));
  };
  if (!non_negative(form, context)) return log_of(std::move(form));
  NormalForm result;
  const auto add = [&](const NormalForm& part, const Fraction& times) {
    for (const Term& term : part) {
      result.push_back(term);
      result.back().coefficient = term.coefficient * times;
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
      add(log_of({Term{1, {}, {}, {{factor.atom, 1}}}}), factor.exponent);
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
  Term result;
  result.coefficient = form[0].coefficient.magnitude();
  for (const Factor& factor : factors) {
    const Atom* atom = factor.atom;
    if (!non_negative(factor, context)) {
      atom = arena_.apply(Function::kAbs, {arena_.form({Term{1, {}, {}, {{atom, 1}}}})});
    }
    result.factors.push_back({atom, factor.exponent});
  }
  result.factors = Arena::product(std::move(result.factors));
  return NormalForm{std::move(result)};
}

/// √(Π aᵢ^kᵢ) = Π |aᵢ|^(kᵢ/2) for even kᵢ, and Π aᵢ^(kᵢ/2) for aᵢ = exp(…).
std::optional<NormalForm> Normalizer::root_of_product(const NormalForm& form,
                                                      const FactSet& context) {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty() ||
      form[0].coefficient != Fraction(1) || form[0].factors.empty()) {
    return std::nullopt;
  }
  Term result;
  for (const Factor& factor : form[0].factors) {
    const bool exponential =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == Function::kExp;
    if (!exponential && !factor.exponent.is_even()) return std::nullopt;
    const Atom* atom = factor.atom;
    if (!non_negative({atom, 1}, context)) {
      atom = arena_.apply(Function::kAbs, {arena_.form({Term{1, {}, {}, {{atom, 1}}}})});
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
  Term result;
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
  Term product;
  for (const Term& term : form) {
    Term base = term;
    base.coefficient = 1;
    const Atom* atom = nullptr;
    const NormalForm whole{base};
    if (const Factor* log = only_factor(whole, AtomKind::kApply);
        log != nullptr && log->atom->function == Function::kLog) {
      const NormalForm inside = arena_.open(log->atom->arguments[0]);
      if (inside.size() == 1 && inside[0] == Term{1, {}, {}, inside[0].factors} &&
          inside[0].factors.size() == 1 && inside[0].factors[0].exponent == Fraction(1) &&
          non_negative(inside, {})) {
        atom = inside[0].factors[0].atom;
      }
    }
    if (atom == nullptr) atom = arena_.apply(Function::kExp, {arena_.form({std::move(base)})});
    product.factors.push_back({atom, term.coefficient});
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
      is_truth_value(factor->atom->function)) {
    is_zero = sum_of(constant(1), negated(condition));
  } else {
    is_zero = apply_to_whole(Function::kIsZero, {condition}, context);
  }
  const NormalForm difference = sum_of(arguments[2], negated(arguments[1]));
  return sum_of(arguments[1], product(is_zero, difference, context));
}

/// An integer that the context shows not to be negative.
bool Normalizer::is_count(const NormalForm& form, const FactSet& context) {
  const auto integer = as_integer(form);
  return integer && oracle_.implied(context, at_least(*integer, 0));
}

/// x^k for an integer k ≥ 0 has values everywhere, for k < 0 where x is not 0; other powers where x
/// is positive, which is taken to be so for exponents that are not numbers too.
void Normalizer::note_demands_of_power(const std::vector<NormalForm>& arguments,
                                       const FactSet& context) {
  const auto exponent = as_constant(collected(arguments[1]));
  const bool integer = exponent && exponent->is_integer();
  if (!integer) note_demands_of(Function::kSqrt, arguments[0], context);
  if (!exponent || exponent->sign() < 0) note_demands_of(Function::kPow, arguments[0], context);
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
