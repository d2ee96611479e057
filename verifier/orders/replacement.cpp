// See replacement.h. What stands around the atom is made again by the laws, as its value may make
// it simpler.
#include "verifier/orders/replacement.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

using ops::Function;

bool contains_in_form(const Form& form, const Atom& part) {
  return std::any_of(form.summands.begin(), form.summands.end(), [&](const Summand& summand) {
    return std::any_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
      return Replacement::contains(*factor.atom, part);
    });
  });
}

}  // namespace

bool Replacement::contains(const Atom& whole, const Atom& part) {
  return &whole == &part ||
         std::any_of(whole.arguments.begin(), whole.arguments.end(),
                     [&](const Form* argument) { return contains_in_form(*argument, part); }) ||
         std::any_of(whole.pieces.begin(), whole.pieces.end(),
                     [&](const Piece& piece) { return contains_in_form(*piece.body, part); });
}

/// The factor's base. A factor of an exponential becomes one of its argument: then the exponent
/// is 1.
NormalForm Replacement::rebuilt(const Factor& factor, const Atom& atom, const NormalForm& value,
                                const FactSet& context, Fraction& exponent) {
  const Atom& own = *factor.atom;
  Arena& arena = laws_.proof.arena;
  std::vector<NormalForm> arguments;
  for (const Form* argument : own.arguments)
    arguments.push_back(replace(arena.open(argument), atom, value));
  switch (own.kind) {
  case AtomKind::kRounded:
    return laws_.rounding.rounded(arguments[0], static_cast<core::DataType>(own.tensor), context);
  case AtomKind::kWrapped:
    return is_wrap(own) ? laws_.wrapping.wrapped(arguments[0], type_of_wrap(own), context)
                        : laws_.wrapping.truncated(arguments[0], type_of_wrap(own), context);
  case AtomKind::kReciprocal:
    return laws_.simplifier.reciprocal(arguments[0], context);
  case AtomKind::kApply:
    if (own.function == Function::kExp)
      arguments[0] = scaled(std::move(arguments[0]), std::exchange(exponent, Fraction(1)));
    return laws_.functions.apply(own.function, arguments, context);
  default:
    std::vector<OpenPiece> pieces = open_pieces(arena, own);
    for (OpenPiece& piece : pieces) piece.body = replace(piece.body, atom, value);
    return laws_.maxima.maximum(std::move(pieces), context);
  }
}

NormalForm Replacement::replace(const Factor& factor, const Atom& atom, const NormalForm& value,
                                const FactSet& context) {
  Fraction exponent = factor.exponent;
  NormalForm base = factor.atom == &atom ? value : rebuilt(factor, atom, value, context, exponent);
  if (!exponent.is_integer()) throw OutOfBudget{"a root of a maximum"};
  if (exponent.sign() < 0) base = laws_.simplifier.reciprocal(base, context);
  NormalForm result{Summand{}};
  for (std::int64_t k = exponent.magnitude().numerator(); k > 0; --k)
    result = laws_.simplifier.product(result, base, context);
  return result;
}

NormalForm Replacement::replace(const NormalForm& form, const Atom& atom, const NormalForm& value) {
  NormalForm result;
  for (const Summand& summand : form) {
    const FactSet inside = unite(context_, summand.guards);
    Summand kept{summand.coefficient, {}, {}, {}};
    std::vector<Factor> touched;
    for (const Factor& factor : summand.factors) {
      (contains(*factor.atom, atom) ? touched : kept.factors).push_back(factor);
    }
    if (touched.empty()) {
      result.push_back(summand);
      continue;
    }
    NormalForm product{std::move(kept)};
    for (const Factor& factor : touched) {
      product = laws_.simplifier.product(product, replace(factor, atom, value, inside), inside);
    }
    for (Summand& part : product) {
      part.guards = unite(part.guards, summand.guards);
      part.binders.insert(part.binders.end(), summand.binders.begin(), summand.binders.end());
      for (Summand& simple : laws_.simplifier.simplify(std::move(part), context_)) {
        result.push_back(std::move(simple));
      }
    }
  }
  return collected(std::move(result));
}

}  // namespace soapstone::verifier
