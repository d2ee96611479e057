// See function_laws.h: the order of the laws, and those of many functions at once.
#include "verifier/laws/function_laws.h"

#include <algorithm>
#include <utility>

#include "verifier/algebra/open_piece.h"
#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"
#include "verifier/laws/maxima.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

bool rounds_to_integer(Function function) {
  return function == Function::kFloor || function == Function::kCeil ||
         function == Function::kRound || function == Function::kTruncate;
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

NormalForm FunctionLaws::apply(Function function, const std::vector<NormalForm>& arguments,
                               const FactSet& context) {
  return cases_.split(arguments, context,
                      [this, function](const auto& forms, const FactSet& inside) {
                        return apply_to_whole(function, forms, inside);
                      });
}

/// Functions of numbers, and functions that are written as others.
FunctionLaws::Result FunctionLaws::by_other_functions(Function function,
                                                      const std::vector<NormalForm>& arguments,
                                                      const FactSet& context) {
  std::vector<Fraction> numbers;
  for (const NormalForm& argument : arguments) {
    if (const auto number = as_constant(argument)) numbers.push_back(*number);
  }
  if (numbers.size() == arguments.size()) {
    if (const auto value = value_at(function, numbers)) return constant(*value);
  }
  // For numbers, a ≤ b is not b < a; no proof says anything of NaN.
  if (function == Function::kLessOrEqual) {
    return sum_of(constant(1),
                  negated(apply_to_whole(Function::kLess, {arguments[1], arguments[0]}, context)));
  }
  if (function == Function::kLog1p) {
    return apply_to_whole(Function::kLog, {sum_of(constant(1), arguments[0])}, context);
  }
  return std::nullopt;
}

/// Laws of one function each; none if the function has no law of its own, or none that fits.
FunctionLaws::Result FunctionLaws::by_own_law(Function function,
                                              const std::vector<NormalForm>& arguments,
                                              const FactSet& context) {
  const NormalForm& x = arguments[0];
  switch (function) {
  case Function::kExp:
    return exponentials_.exponential(x);
  case Function::kSqrt:
    return root(x, context);
  case Function::kRelu:
    return relu_of_whole(x, context);
  case Function::kSelect:
    return select(arguments, context);
  case Function::kLess:
  case Function::kEqual:
    return compared(function, arguments, context);
  case Function::kPow:
    return small_power(arguments, context);
  case Function::kAbs:
    return magnitude(x, context);
  case Function::kCeil:
    return negated(apply_to_whole(Function::kFloor, {negated(x)}, context));
  case Function::kLog:
    return exponentials_.logarithm(x, context);
  default:
    return std::nullopt;
  }
}

/// Laws of all functions of one argument with a property: f(f(x)) = f(x), f(max(a, b)) =
/// max(f(a), f(b)), f(−x) = ∓f(x).
FunctionLaws::Result FunctionLaws::by_property(Function function, const NormalForm& x,
                                               const FactSet& context) {
  const ops::FunctionProperties& law = ops::properties(function);
  if (const Factor* inner = only_factor(x, AtomKind::kApply); law.idempotent && inner != nullptr &&
                                                              x[0].coefficient == Fraction(1) &&
                                                              inner->atom->function == function) {
    return x;
  }
  if (law.arity != 1) return std::nullopt;
  if (law.monotone || function == Function::kSqrt) {
    if (auto result = into_maximum(function, x, context)) return result;
  }
  if (function == Function::kSigmoid || function == Function::kTanh) {
    if (expansion_.wanted) return exponentials_.in_exponentials(function, x, context);
    expansion_.met = true;
  }
  // The argument that leads with a positive coefficient stands for both.
  if ((law.odd || law.even) && leading_coefficient(proof_.arena, x).sign() < 0) {
    NormalForm result = apply_to_whole(function, {negated(x)}, context);
    return law.odd ? negated(std::move(result)) : result;
  }
  return std::nullopt;
}

/// The first law that fits is used. Another one that fits as well leads to an equal form, so the
/// order decides only how soon there is nothing left to do: numbers first, then what takes the
/// function away, then what takes its argument apart, and last what only picks one of two ways to
/// write it.
NormalForm FunctionLaws::apply_to_whole(Function function, std::vector<NormalForm> arguments,
                                        const FactSet& context) {
  for (NormalForm& argument : arguments) argument = collected(std::move(argument));
  if (auto other = by_other_functions(function, arguments, context)) return *std::move(other);
  if (auto known = decided(function, arguments, context)) return *std::move(known);
  if (auto inside = through_selector(function, arguments, context)) return *std::move(inside);
  const NormalForm& x = arguments[0];
  const ops::FunctionProperties& law = ops::properties(function);
  if (rounds_to_integer(function) && ranges_.is_integral(x)) return x;
  if (law.zero_preserving && law.arity == 1 && x.empty()) return {};
  if (auto result = by_own_law(function, arguments, context)) return *std::move(result);
  if (auto result = by_property(function, x, context)) return *std::move(result);
  std::vector<const Form*> forms;
  for (NormalForm& argument : arguments) forms.push_back(proof_.arena.form(std::move(argument)));
  return summand_of(proof_.arena.apply(function, std::move(forms)));
}

/// f(c·max(a, b)) = max(f(c·a), f(c·b)) for c > 0 and f that never falls; for c < 0 a minimum,
/// which is −max of the negated.
FunctionLaws::Result FunctionLaws::into_maximum(Function function, const NormalForm& form,
                                                const FactSet& context) {
  if (form.size() != 1) return std::nullopt;
  const Fraction scale = form[0].coefficient;
  const NormalForm unit = scaled(form, scale.inverse());
  const Factor* factor = only_factor(unit, AtomKind::kMax);
  if (factor == nullptr) return std::nullopt;
  std::vector<OpenPiece> pieces = open_pieces(proof_.arena, *factor->atom);
  // √ never falls where it has a value; max(a, 0) is max(relu(a), 0).
  if (function == Function::kSqrt) {
    const bool has_zero = std::any_of(pieces.begin(), pieces.end(), [](const OpenPiece& piece) {
      return piece.body.empty() && piece.binders.empty() && piece.guards.empty();
    });
    for (OpenPiece& piece : pieces) {
      const FactSet inside = unite(context, piece.guards);
      if (scale.sign() > 0 && signs_.non_negative(piece.body, inside)) continue;
      if (scale.sign() < 0 || !has_zero) return std::nullopt;
      piece.body = apply(Function::kRelu, {piece.body}, inside);
    }
  }
  for (OpenPiece& piece : pieces) {
    piece.body = apply(function, {scaled(piece.body, scale)}, unite(context, piece.guards));
    if (scale.sign() < 0) piece.body = negated(std::move(piece.body));
  }
  NormalForm result = maxima_.maximum(std::move(pieces), context);
  return scale.sign() < 0 ? negated(std::move(result)) : result;
}

/// f(Σ over v of [p = v]·x(v)) = Σ over v of [p = v]·f(x(v))
FunctionLaws::Result FunctionLaws::through_selector(Function function,
                                                    const std::vector<NormalForm>& arguments,
                                                    const FactSet& context) {
  const auto selection = selectors_.selection_in(arguments);
  if (!selection) return std::nullopt;
  NormalForm result;
  for (Summand& summand : apply(function, selection->inside, unite(context, selection->range))) {
    summand.guards = unite(summand.guards, selection->range);
    summand.binders.push_back(selection->binder);
    summand.factors.push_back(selection->selector);
    summand.factors = Arena::product(std::move(summand.factors));
    // Summands of one sum share no binder.
    for (Summand& part : simplifier_.simplify(proof_.arena.refreshed(summand), context))
      result.push_back(std::move(part));
  }
  return collected(std::move(result));
}

}  // namespace soapstone::verifier
