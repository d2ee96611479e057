// See signs.h. Where nothing is known of a value, its sign may still cancel: x·x is never negative.
#include "verifier/algebra/signs.h"

#include <algorithm>
#include <utility>

#include "verifier/algebra/open_piece.h"
#include "verifier/forms/common_factors.h"

namespace soapstone::verifier {
namespace {

/// x ≥ 0 → f(x) ≥ 0 and x ≤ 0 → f(x) ≤ 0
bool keeps_sign(const Atom& atom) {
  const ops::FunctionProperties& law = ops::properties(atom.function);
  return law.arity == 1 && law.monotone && law.zero_preserving;
}

}  // namespace

bool Signs::non_negative(const Factor& factor, const FactSet& context) const {
  if (factor.exponent.is_even()) return true;
  const Atom& atom = *factor.atom;
  switch (atom.kind) {
  case AtomKind::kRead: {
    const auto range = ranges_.range_of(atom);
    return is_non_negative_read(atom) || (range && range->low >= 0);
  }
  case AtomKind::kNumber:
    return true;
  case AtomKind::kIndex:
    return proof_.implied(context, at_least(atom.index[0], 0));
  case AtomKind::kApply: {
    const ops::FunctionProperties& law = ops::properties(atom.function);
    return law.non_negative ||
           (keeps_sign(atom) && non_negative(atom.arguments[0]->summands, context));
  }
  case AtomKind::kReciprocal:
  case AtomKind::kRounded:
    return non_negative(atom.arguments[0]->summands, context);
  case AtomKind::kWrapped:
    return false;
  case AtomKind::kMax:
    return std::all_of(atom.pieces.begin(), atom.pieces.end(), [&](const Piece& piece) {
      return non_negative(piece.body->summands, unite(context, piece.guards));
    });
  }
  return false;
}

/// Equal values whose signs are not known cancel in pairs: x·x, x·tanh(x), and the product of a sum
/// with itself are never negative.
std::optional<Signs::Sign> Signs::sign_of(const Summand& summand, const FactSet& context) const {
  Sign result{summand.coefficient.sign(), {}};
  const auto toggle = [&](const Form* value) {
    const auto known = std::find(result.open.begin(), result.open.end(), value);
    if (known == result.open.end()) {
      result.open.push_back(value);
    } else {
      result.open.erase(known);
    }
  };
  const FactSet inside = unite(context, summand.guards);
  for (const Summand& part : components(summand)) {
    const bool never_negative =
        std::all_of(part.factors.begin(), part.factors.end(),
                    [&](const Factor& factor) { return non_negative(factor, inside); });
    if (never_negative) continue;
    if (!part.binders.empty()) {
      toggle(proof_.arena.form({part}));
      continue;
    }
    const Factor& factor = part.factors[0];
    if (!factor.exponent.is_integer()) return std::nullopt;
    const Atom& atom = *factor.atom;
    const NormalForm* inner =
        atom.kind == AtomKind::kApply && keeps_sign(atom) ? &atom.arguments[0]->summands : nullptr;
    if (inner != nullptr && inner->size() == 1 && inner->front().guards.empty()) {
      const auto sign = sign_of(inner->front(), inside);
      if (!sign) return std::nullopt;
      result.known *= sign->known;
      for (const Form* value : sign->open) toggle(value);
    } else {
      toggle(proof_.arena.form({Summand{1, {}, {}, {{&atom, 1}}}}));
    }
  }
  return result;
}

bool Signs::non_negative(const NormalForm& form, const FactSet& context) const {
  return std::all_of(form.begin(), form.end(), [&](const Summand& summand) {
    const FactSet inside = unite(context, summand.guards);
    const bool plainly =
        std::all_of(summand.factors.begin(), summand.factors.end(),
                    [&](const Factor& factor) { return non_negative(factor, inside); });
    if (plainly) return summand.coefficient.sign() > 0;
    const auto sign = sign_of(summand, context);
    return sign && sign->known > 0 && sign->open.empty();
  });
}

/// The guards certainly hold for some values of the binders: near 0; or, for one binder after the
/// other, wherever each of its lower bounds is below each of its upper ones. That is exact for
/// bounds with coefficient 1.
bool Signs::is_over_something(const Summand& sum, const FactSet& context) const {
  constexpr std::int64_t kPlaces = 4;
  for (std::int64_t place = 0; place < kPlaces; ++place) {
    Substitution values;
    for (Symbol binder : sum.binders) values.emplace_back(binder, Linear(place));
    const bool holds = std::all_of(sum.guards.begin(), sum.guards.end(), [&](const Fact& fact) {
      return proof_.implied(context, fact.substitute(values));
    });
    if (holds) return true;
  }
  OpenPiece piece{sum.binders, sum.guards, {}};
  if (!project_unused(proof_, piece, context)) return false;
  return std::all_of(piece.guards.begin(), piece.guards.end(),
                     [&](const Fact& fact) { return proof_.implied(context, fact); });
}

bool Signs::is_positive(const Atom& atom, const FactSet& context) const {
  switch (atom.kind) {
  case AtomKind::kNumber:
    return true;
  case AtomKind::kIndex:
    return proof_.implied(context, at_least(atom.index[0], 1));
  case AtomKind::kApply:
    return ops::properties(atom.function).positive;
  case AtomKind::kReciprocal:
    return non_negative(atom.arguments[0]->summands, context);
  case AtomKind::kRead:
  case AtomKind::kRounded:
  case AtomKind::kWrapped:
  case AtomKind::kMax:
    return false;
  }
  return false;
}

bool Signs::is_positive(const Summand& summand, const FactSet& context) const {
  if (summand.coefficient.sign() <= 0) return false;
  const FactSet inside = unite(context, summand.guards);
  return is_over_something(summand, context) &&
         std::all_of(summand.factors.begin(), summand.factors.end(),
                     [&](const Factor& factor) { return is_positive(*factor.atom, inside); });
}

bool Signs::has_positive_part(const NormalForm& form, const FactSet& context) const {
  return non_negative(form, context) &&
         std::any_of(form.begin(), form.end(),
                     [&](const Summand& summand) { return is_positive(summand, context); });
}

NormalForm Signs::any_non_negative() {
  return summand_of(proof_.arena.read(kFirstNonNegative + next_non_negative_++, {}));
}

}  // namespace soapstone::verifier
