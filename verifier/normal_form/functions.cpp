// The laws of functions. Each is stated where it is applied, with its condition.
#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

using ops::Function;

bool rounds_to_integer(Function function) {
  return function == Function::kFloor || function == Function::kCeil ||
         function == Function::kRound || function == Function::kTruncate;
}

bool is_truth_value(Function function) {
  return function == Function::kLess || function == Function::kEqual ||
         function == Function::kIsZero;
}

/// Functions whose values at rational numbers are rational.
std::optional<Fraction> value_at(Function function, const std::vector<Fraction>& x) {
  switch (function) {
  case Function::kRelu:
    return x[0].sign() > 0 ? x[0] : Fraction(0);
  case Function::kAbs:
    return x[0].magnitude();
  case Function::kLess:
    return Fraction(x[0] < x[1] ? 1 : 0);
  case Function::kLessOrEqual:
    return Fraction(x[1] < x[0] ? 0 : 1);
  case Function::kEqual:
    return Fraction(x[0] == x[1] ? 1 : 0);
  case Function::kIsZero:
    return Fraction(x[0].is_zero() ? 1 : 0);
  case Function::kSelect:
    return x[0].is_zero() ? x[2] : x[1];
  case Function::kSqrt:
    return x[0] == Fraction(1) ? std::optional(x[0]) : std::nullopt;
  case Function::kCos:
    return x[0].is_zero() ? std::optional(Fraction(1)) : std::nullopt;
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kTruncate:
    return x[0].is_integer() ? std::optional(x[0]) : std::nullopt;
  default:
    return std::nullopt;
  }
}

}  // namespace

/// Sums and products of integers, and of what is rounded to them.
bool Normalizer::is_integral(const NormalForm& form) const {
  return std::all_of(form.begin(), form.end(),
                     [&](const Summand& summand) { return is_integral(summand); });
}

bool Normalizer::is_integral(const Summand& summand) const {
  if (!summand.coefficient.is_integer()) return false;
  return std::all_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
    if (!factor.exponent.is_integer() || factor.exponent.sign() < 0) return false;
    const Atom& atom = *factor.atom;
    switch (atom.kind) {
    case AtomKind::kRead:
      return atom.tensor < types_.size() && !core::is_floating(types_[atom.tensor]);
    case AtomKind::kNumber:
      return atom.number.is_integer();
    case AtomKind::kIndex:
    case AtomKind::kWrapped:
      return true;
    case AtomKind::kApply:
      return ops::properties(atom.function).integral ||
             ((atom.function == Function::kRelu || atom.function == Function::kAbs) &&
              is_integral(atom.arguments[0]->summands));
    case AtomKind::kMax:
      return std::all_of(atom.pieces.begin(), atom.pieces.end(),
                         [&](const Piece& piece) { return is_integral(piece.body->summands); });
    case AtomKind::kReciprocal:
    case AtomKind::kRounded:
      return false;
    }
    return false;
  });
}

/// 1 where the fact holds, else 0.
NormalForm Normalizer::where(const Fact& fact, const FactSet& context) {
  Summand summand;
  summand.guards = {fact};
  return simplify(std::move(summand), context);
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
  // Of numbers, a ≤ b is not b < a; what NaN gives is no matter of a proof.
  if (function == Function::kLessOrEqual)
    return sum_of(constant(1),
                  negated(apply_to_whole(Function::kLess, {arguments[1], arguments[0]}, context)));
  if (function == Function::kLog1p)
    return apply_to_whole(Function::kLog, {sum_of(constant(1), arguments[0])}, context);
  if (auto known = decided(function, arguments, context)) return *std::move(known);
  if (auto inside = through_selector(function, arguments, context)) return *std::move(inside);
  const NormalForm& x = arguments[0];
  const ops::FunctionProperties& law = ops::properties(function);
  if (rounds_to_integer(function) && is_integral(x)) return x;
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
    if (auto product = homogeneous(function, x, context)) return *std::move(product);
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
  if (law.arity == 1 && (law.monotone || function == Function::kSqrt)) {
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
  return summand_of(arena_.apply(function, std::move(forms)));
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
  // √ never falls where it has a value; max(a, 0) is max(relu(a), 0).
  if (function == Function::kSqrt) {
    const bool has_zero = std::any_of(pieces.begin(), pieces.end(), [](const OpenPiece& piece) {
      return piece.body.empty() && piece.binders.empty() && piece.guards.empty();
    });
    for (OpenPiece& piece : pieces) {
      const FactSet inside = unite(context, piece.guards);
      if (scale.sign() > 0 && non_negative(piece.body, inside)) continue;
      if (scale.sign() < 0 || !has_zero) return std::nullopt;
      piece.body = apply(Function::kRelu, {piece.body}, inside);
    }
  }
  for (OpenPiece& piece : pieces) {
    piece.body = apply(function, {scaled(piece.body, scale)}, unite(context, piece.guards));
    if (scale.sign() < 0) piece.body = negated(std::move(piece.body));
  }
  NormalForm result = maximum(std::move(pieces), context);
  return scale.sign() < 0 ? negated(std::move(result)) : result;
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
  NormalForm inside = form;
  Summand outside;
  outside.factors =
      take_common(inside, [&](const Factor& factor) { return non_negative(factor, context); });
  outside.coefficient = leading_coefficient(inside).magnitude();
  if (outside.coefficient != Fraction(1) || !outside.factors.empty()) {
    inside = scaled(std::move(inside), outside.coefficient.inverse());
    return product({outside}, relu_of_whole(inside, context), context);
  }
  if (auto product = homogeneous(Function::kRelu, form, context)) return *std::move(product);
  return summand_of(arena_.apply(Function::kRelu, {arena_.form(form)}));
}

}  // namespace soapstone::verifier
