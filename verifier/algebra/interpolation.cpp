// See simplifier.h: the weights of an interpolation between the elements of a row.
#include <algorithm>
#include <utility>

#include "verifier/algebra/open_piece.h"
#include "verifier/algebra/simplifier.h"
#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"

namespace soapstone::verifier {
namespace {

/// The argument of the function that the form is, up to a positive coefficient; else null.
const Form* argument_of(const NormalForm& form, ops::Function function) {
  const Factor* const factor = only_factor(form, AtomKind::kApply);
  if (factor == nullptr || factor->atom->function != function) return nullptr;
  return factor->atom->arguments[0];
}

/// The t of relu(1 − |t − v|), if the atom is that.
std::optional<NormalForm> middle_of_tent(Arena& arena, const Atom& atom, Symbol v) {
  if (atom.kind != AtomKind::kApply || atom.function != ops::Function::kRelu) return std::nullopt;
  const NormalForm inside = sum_of(constant(1), negated(arena.open(atom.arguments[0])));
  const Form* const distance = argument_of(inside, ops::Function::kAbs);
  if (distance == nullptr || inside[0].coefficient != Fraction(1)) return std::nullopt;
  NormalForm rest = arena.open(distance);
  const auto is_v = [&](const Summand& summand) {
    return summand.guards.empty() && summand.binders.empty() && summand.factors.size() == 1 &&
           summand.factors[0].exponent == Fraction(1) &&
           summand.factors[0].atom == arena.index(v) &&
           summand.coefficient.magnitude() == Fraction(1);
  };
  const auto place = std::find_if(rest.begin(), rest.end(), is_v);
  if (place == rest.end()) return std::nullopt;
  const Fraction sign = place->coefficient;
  rest.erase(place);
  if (mentions(rest, v)) return std::nullopt;
  return scaled(std::move(rest), -sign);
}

}  // namespace

/// The form is certainly no less than that integer.
bool Simplifier::is_at_least(const NormalForm& form, const Linear& low, const FactSet& context) {
  if (const auto integer = as_integer(form))
    return proof_.implied(context, at_least(*integer, low));
  return signs_.non_negative(sum_of(form, negated(proof_.arena.value_of(low))), context);
}

/// The form is a minimum of what is no less than `low` and of integers of which one is no more than
/// `high`.
bool Simplifier::is_clamped(const NormalForm& form, const Linear& low, const Linear& high,
                            const FactSet& context) {
  const NormalForm largest = negated(form);
  const Factor* const maximum = only_factor(largest, AtomKind::kMax);
  if (maximum == nullptr) return false;
  bool bounded = false;
  for (const OpenPiece& piece : open_pieces(proof_.arena, *maximum->atom)) {
    const NormalForm value = scaled(piece.body, -largest[0].coefficient);
    if (!is_at_least(value, low, unite(context, piece.guards))) return false;
    const auto integer = as_integer(value);
    bounded = bounded ||
              (is_plain(piece) && integer && proof_.implied(context, at_least(high, *integer)));
  }
  return bounded;
}

/// Σ over low ≤ v ≤ high of relu(1 − |t − v|) = 1 for low ≤ t ≤ high: the two nearest integers have
/// the weights 1 − d and d.
std::optional<NormalForm> Simplifier::without_interpolation(const Summand& summand,
                                                            const FactSet& context) {
  for (Symbol binder : summand.binders) {
    std::vector<std::size_t> users;
    for (std::size_t k = 0; k < summand.factors.size(); ++k) {
      const std::vector<Symbol>& symbols = summand.factors[k].atom->free_symbols;
      if (std::binary_search(symbols.begin(), symbols.end(), binder)) users.push_back(k);
    }
    if (users.size() != 1 || summand.factors[users[0]].exponent != Fraction(1)) continue;
    const auto middle = middle_of_tent(proof_.arena, *summand.factors[users[0]].atom, binder);
    if (!middle) continue;
    const SymbolBounds bounds = bounds_of(summand.guards, binder);
    if (!bounds.simple || bounds.low.size() != 1 || bounds.high.size() != 1) continue;
    const FactSet inside = unite(context, bounds.others);
    if (!is_clamped(*middle, bounds.low[0], bounds.high[0], inside)) continue;
    Summand rest = summand;
    std::erase(rest.binders, binder);
    rest.guards = bounds.others;
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(users[0]));
    return simplify(std::move(rest), context);
  }
  return std::nullopt;
}

}  // namespace soapstone::verifier
