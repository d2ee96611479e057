// See atom_cases.h.
#include "verifier/orders/atom_cases.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

using ops::Function;

NormalForm difference(const NormalForm& a, const NormalForm& b) {
  NormalForm result = a;
  for (Summand summand : b) {
    summand.coefficient = -summand.coefficient;
    result.push_back(std::move(summand));
  }
  return collected(std::move(result));
}

bool is_plain_piece(const Piece& piece) { return piece.binders.empty() && piece.guards.empty(); }

bool varies_with(const Atom& atom, const std::vector<Symbol>& bound) {
  return std::any_of(bound.begin(), bound.end(), [&](Symbol symbol) {
    return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
  });
}

std::vector<Symbol> joined(std::vector<Symbol> bound, const std::vector<Symbol>& more) {
  bound.insert(bound.end(), more.begin(), more.end());
  return bound;
}

void collect_elements_in(const NormalForm& form, bool is_inside, const std::vector<Symbol>& bound,
                         std::vector<const Atom*>& found) {
  for (const Summand& summand : form) {
    const std::vector<Symbol> deeper = joined(bound, summand.binders);
    for (const Factor& factor : summand.factors) {
      const Atom& atom = *factor.atom;
      if (atom.kind == AtomKind::kRead && is_inside && !varies_with(atom, deeper) &&
          !Signs::is_non_negative_read(atom) &&
          std::find(found.begin(), found.end(), &atom) == found.end())
        found.push_back(&atom);
      for (const Form* argument : atom.arguments)
        collect_elements_in(argument->summands, true, deeper, found);
      for (const Piece& piece : atom.pieces)
        collect_elements_in(piece.body->summands, true, joined(deeper, piece.binders), found);
    }
  }
}

/// One of the choices, which are all that the atom may be, is the largest.
std::vector<Case> largest_of(const Atom& atom, const std::vector<NormalForm>& choices) {
  std::vector<Case> cases;
  for (const NormalForm& largest : choices) {
    Case each{{}, &atom, largest};
    for (const NormalForm& other : choices)
      if (&other != &largest) each.conditions.push_back({difference(largest, other)});
    cases.push_back(std::move(each));
  }
  return cases;
}

/// An element of any sign that is a factor of the product; null: the form is no product, or has
/// none.
const Atom* signed_factor(const NormalForm& form) {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty()) return nullptr;
  for (const Factor& factor : form[0].factors)
    if (factor.atom->kind == AtomKind::kRead && !factor.exponent.is_even() &&
        !Signs::is_non_negative_read(*factor.atom))
      return factor.atom;
  return nullptr;
}

}  // namespace

void collect_elements(const NormalForm& form, std::vector<const Atom*>& found) {
  collect_elements_in(form, false, {}, found);
}

/// It is there: its ranges hold somewhere, as near 0 or in the middle of a window.
bool AtomCases::is_present(const Piece& piece) {
  if (is_plain_piece(piece)) return true;
  for (const std::int64_t place : {0, 1, 2, 3}) {
    Substitution values;
    for (Symbol binder : piece.binders) values.emplace_back(binder, Linear(place));
    const bool holds = std::all_of(piece.guards.begin(), piece.guards.end(), [&](const Fact& fact) {
      return laws_.proof.implied(context_, fact.substitute(values));
    });
    if (holds) return true;
  }
  return false;
}

bool AtomCases::is_decidable(const Atom& atom) {
  if (laws_.ranges.is_boolean(atom)) return true;
  if (atom.kind == AtomKind::kMax)
    return atom.pieces.size() > 1 &&
           std::all_of(atom.pieces.begin(), atom.pieces.end(),
                       [&](const Piece& piece) { return is_present(piece); });
  return atom.kind == AtomKind::kApply &&
         (atom.function == Function::kRelu || atom.function == Function::kAbs ||
          atom.function == Function::kLess || atom.function == Function::kEqual ||
          atom.function == Function::kIsZero);
}

const Atom* AtomCases::decidable(const NormalForm& form) {
  const Atom* best = nullptr;
  note_decidable(form, {}, best);
  return best;
}

void AtomCases::note_decidable(const NormalForm& form, const std::vector<Symbol>& bound,
                               const Atom*& best) {
  for (const Summand& summand : form) {
    const std::vector<Symbol> inside = joined(bound, summand.binders);
    for (const Factor& factor : summand.factors) {
      const Atom& atom = *factor.atom;
      for (const Form* argument : atom.arguments) note_decidable(argument->summands, inside, best);
      for (const Piece& piece : atom.pieces)
        note_decidable(piece.body->summands, joined(inside, piece.binders), best);
      const bool is_lower = best == nullptr || atom.height < best->height;
      if (is_lower && !varies_with(atom, inside) && is_decidable(atom)) best = &atom;
    }
  }
}

std::vector<Case> AtomCases::signs_of(const Atom& element) {
  const NormalForm magnitude = laws_.signs.any_non_negative();
  return {{{}, &element, magnitude}, {{}, &element, scaled(magnitude, -1)}};
}

std::vector<Case> AtomCases::cases_of(const Atom& atom) {
  if (atom.kind == AtomKind::kRead) return {{{}, &atom, {Summand{}}}, {{}, &atom, {}}};
  return atom.kind == AtomKind::kMax ? largest_of(atom, values_of_maximum(atom))
                                     : cases_of_function(atom);
}

std::vector<NormalForm> AtomCases::values_of_maximum(const Atom& atom) {
  std::vector<NormalForm> values;
  for (OpenPiece& piece : open_pieces(laws_.proof.arena, atom)) {
    const bool plain = piece.binders.empty() && piece.guards.empty();
    values.push_back(plain ? std::move(piece.body)
                           : laws_.maxima.maximum({std::move(piece)}, context_));
  }
  return values;
}

std::vector<Case> AtomCases::cases_of_function(const Atom& atom) {
  Arena& arena = laws_.proof.arena;
  const NormalForm x = arena.open(atom.arguments[0]);
  const bool alone = atom.arguments.size() == 1;
  const NormalForm gap = alone ? x : difference(arena.open(atom.arguments[1]), x);
  const NormalForm opposite = scaled(gap, -1);
  if (atom.function == Function::kLess)
    return {{{{gap, true}}, &atom, {Summand{}}}, {{{opposite}}, &atom, {}}};
  if (atom.function == Function::kEqual || atom.function == Function::kIsZero)
    return {{{{gap}, {opposite}}, &atom, {Summand{}}},
            {{{gap, true}}, &atom, {}},
            {{{opposite, true}}, &atom, {}}};
  // A product is split by the signs of its factors.
  if (const Atom* element = signed_factor(x)) return signs_of(*element);
  const bool relu = atom.function == Function::kRelu;
  return largest_of(atom, {x, relu ? NormalForm{} : scaled(x, -1)});
}

}  // namespace soapstone::verifier
