// Cases may overlap at their borders: the form must be 0 in all of them. A case may give an atom a
// value, or an element of an input a sign: x is then a number t ≥ 0, or −t, and the laws of
// functions that ask for a sign apply.
#include "verifier/orders/order_cases.h"

#include <algorithm>
#include <utility>

#include "verifier/orders/order_facts.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

constexpr int kMaxDepth = 7;

constexpr int kMaxSigns = 3;  ///< Elements split though no function asks for it.

/// The value that an atom has where all conditions hold.
struct Case {
  std::vector<Condition> conditions;
  const Atom* atom = nullptr;
  NormalForm value;
};

NormalForm difference(const NormalForm& a, const NormalForm& b) {
  NormalForm result = a;
  for (Summand summand : b) {
    summand.coefficient = -summand.coefficient;
    result.push_back(std::move(summand));
  }
  return collected(std::move(result));
}

bool is_plain_piece(const Piece& piece) { return piece.binders.empty() && piece.guards.empty(); }

class Splitter {
 public:
  Splitter(Laws& laws, Equality& equality, const FactSet& context, bool thorough)
      : laws_(laws), equality_(equality), context_(context), facts_(laws, context),
        thorough_(thorough) {}

  bool zero(const NormalForm& form, const std::vector<Condition>& conditions, int depth,
            int signs) {
    laws_.proof.spend();
    const Atom* atom = decidable(form);
    if (atom == nullptr) return zero_in_case(form, conditions, depth, signs);
    return depth < kMaxDepth && zero_in(cases_of(*atom), form, conditions, depth + 1, signs);
  }

  /// The signs of these elements are known: none is below 0.
  NormalForm with_signs(NormalForm form, const std::vector<const Atom*>& elements) {
    for (const Atom* element : elements) {
      form = replace(form, *element, laws_.signs.any_non_negative());
    }
    return form;
  }

 private:
  bool zero_in_case(const NormalForm& form, const std::vector<Condition>& conditions, int depth,
                    int signs);
  bool zero_in(const std::vector<Case>& cases, const NormalForm& form,
               const std::vector<Condition>& conditions, int depth, int signs);
  bool is_present(const Piece& piece);
  bool is_decidable(const Atom& atom);
  const Atom* decidable(const NormalForm& form);
  void note_decidable(const NormalForm& form, const std::vector<Symbol>& bound, const Atom*& best);
  std::vector<Case> cases_of(const Atom& atom);
  std::vector<Case> signs_of(const Atom& element);
  bool vanishes(const NormalForm& form, const std::vector<Condition>& conditions);
  bool vanishes_thoroughly(const NormalForm& form, const std::vector<Condition>& conditions);
  bool vanishes_on_border(const NormalForm& form, const std::vector<Condition>& conditions);
  NormalForm replace(const NormalForm& form, const Atom& atom, const NormalForm& value);
  NormalForm replace(const Factor& factor, const Atom& atom, const NormalForm& value,
                     const FactSet& context);
  static bool contains(const Atom& whole, const Atom& part);
  static bool contains(const Form& form, const Atom& part);

  Laws& laws_;
  Equality& equality_;
  const FactSet& context_;
  OrderFacts facts_;
  bool thorough_;
};

/// Elements with one value throughout, of any sign, that stand inside a function or a maximum.
void collect_elements(const NormalForm& form, bool is_inside, const std::vector<Symbol>& bound,
                      std::vector<const Atom*>& found) {
  for (const Summand& summand : form) {
    std::vector<Symbol> deeper = bound;
    deeper.insert(deeper.end(), summand.binders.begin(), summand.binders.end());
    for (const Factor& factor : summand.factors) {
      const Atom& atom = *factor.atom;
      const bool varies = std::any_of(deeper.begin(), deeper.end(), [&](Symbol symbol) {
        return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
      });
      if (atom.kind == AtomKind::kRead && is_inside && !varies &&
          !Signs::is_non_negative_read(atom) &&
          std::find(found.begin(), found.end(), &atom) == found.end()) {
        found.push_back(&atom);
      }
      for (const Form* argument : atom.arguments) {
        collect_elements(argument->summands, true, deeper, found);
      }
      for (const Piece& piece : atom.pieces) {
        std::vector<Symbol> deepest = deeper;
        deepest.insert(deepest.end(), piece.binders.begin(), piece.binders.end());
        collect_elements(piece.body->summands, true, deepest, found);
      }
    }
  }
}

/// Nothing is left to be decided by which value is the largest.
bool Splitter::zero_in_case(const NormalForm& form, const std::vector<Condition>& conditions,
                            int depth, int signs) {
  if (equality_.equal(form, {}, context_) || vanishes(form, conditions) ||
      vanishes_on_border(form, conditions)) {
    return true;
  }
  if (!thorough_) return false;
  if (vanishes_thoroughly(form, conditions)) return true;
  if (signs == kMaxSigns) return false;
  std::vector<const Atom*> elements;
  collect_elements(form, false, {}, elements);
  for (const Condition& condition : conditions) {
    collect_elements(condition.form, false, {}, elements);
  }
  return !elements.empty() && zero_in(signs_of(*elements[0]), form, conditions, depth, signs + 1);
}

bool Splitter::zero_in(const std::vector<Case>& cases, const NormalForm& form,
                       const std::vector<Condition>& conditions, int depth, int signs) {
  return std::all_of(cases.begin(), cases.end(), [&](const Case& each) {
    std::vector<Condition> known = conditions;
    known.insert(known.end(), each.conditions.begin(), each.conditions.end());
    for (Condition& condition : known) {
      condition.form = replace(condition.form, *each.atom, each.value);
    }
    return facts_.contradict(known) ||
           zero(replace(form, *each.atom, each.value), known, depth, signs);
  });
}

/// It is there: its ranges hold somewhere, as near 0 or in the middle of a window.
bool Splitter::is_present(const Piece& piece) {
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

bool Splitter::is_decidable(const Atom& atom) {
  if (laws_.ranges.is_boolean(atom)) return true;
  if (atom.kind == AtomKind::kMax) {
    return atom.pieces.size() > 1 &&
           std::all_of(atom.pieces.begin(), atom.pieces.end(),
                       [&](const Piece& piece) { return is_present(piece); });
  }
  return atom.kind == AtomKind::kApply &&
         (atom.function == Function::kRelu || atom.function == Function::kAbs ||
          atom.function == Function::kLess || atom.function == Function::kEqual ||
          atom.function == Function::kIsZero);
}

/// The innermost one that has the same value throughout, so that its case can be distinguished.
const Atom* Splitter::decidable(const NormalForm& form) {
  const Atom* best = nullptr;
  note_decidable(form, {}, best);
  return best;
}

void Splitter::note_decidable(const NormalForm& form, const std::vector<Symbol>& bound,
                              const Atom*& best) {
  for (const Summand& summand : form) {
    std::vector<Symbol> inside = bound;
    inside.insert(inside.end(), summand.binders.begin(), summand.binders.end());
    for (const Factor& factor : summand.factors) {
      const Atom& atom = *factor.atom;
      for (const Form* argument : atom.arguments) note_decidable(argument->summands, inside, best);
      for (const Piece& piece : atom.pieces) {
        std::vector<Symbol> deeper = inside;
        deeper.insert(deeper.end(), piece.binders.begin(), piece.binders.end());
        note_decidable(piece.body->summands, deeper, best);
      }
      const bool varies = std::any_of(inside.begin(), inside.end(), [&](Symbol symbol) {
        return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
      });
      if (!varies && (best == nullptr || atom.height < best->height) && is_decidable(atom)) {
        best = &atom;
      }
    }
  }
}

std::vector<Case> Splitter::signs_of(const Atom& element) {
  const NormalForm magnitude = laws_.signs.any_non_negative();
  return {{{}, &element, magnitude}, {{}, &element, scaled(magnitude, -1)}};
}

std::vector<Case> Splitter::cases_of(const Atom& atom) {
  Arena& arena = laws_.proof.arena;
  if (atom.kind == AtomKind::kRead) return {{{}, &atom, {Summand{}}}, {{}, &atom, {}}};
  std::vector<NormalForm> choices;
  if (atom.kind == AtomKind::kMax) {
    for (OpenPiece& piece : open_pieces(laws_.proof.arena, atom)) {
      const bool plain = piece.binders.empty() && piece.guards.empty();
      choices.push_back(plain ? std::move(piece.body)
                              : laws_.maxima.maximum({std::move(piece)}, context_));
    }
  } else {
    const NormalForm x = arena.open(atom.arguments[0]);
    const bool alone = atom.arguments.size() == 1;
    const NormalForm gap = alone ? x : difference(arena.open(atom.arguments[1]), x);
    const NormalForm opposite = scaled(gap, -1);
    if (atom.function == Function::kLess) {
      return {{{{gap, true}}, &atom, {Summand{}}}, {{{opposite}}, &atom, {}}};
    }
    if (atom.function == Function::kEqual || atom.function == Function::kIsZero) {
      return {{{{gap}, {opposite}}, &atom, {Summand{}}},
              {{{gap, true}}, &atom, {}},
              {{{opposite, true}}, &atom, {}}};
    }
    // A product is split by the signs of its factors.
    if (x.size() == 1 && x[0].binders.empty() && x[0].guards.empty()) {
      const auto element =
          std::find_if(x[0].factors.begin(), x[0].factors.end(), [](const Factor& factor) {
            return factor.atom->kind == AtomKind::kRead && !factor.exponent.is_even() &&
                   !Signs::is_non_negative_read(*factor.atom);
          });
      if (element != x[0].factors.end()) return signs_of(*element->atom);
    }
    const bool relu = atom.function == Function::kRelu;
    choices = {x, relu ? NormalForm{} : scaled(x, -1)};
  }
  std::vector<Case> cases;
  for (const NormalForm& largest : choices) {
    Case each{{}, &atom, largest};
    for (const NormalForm& other : choices) {
      if (&other != &largest) each.conditions.push_back({difference(largest, other)});
    }
    cases.push_back(std::move(each));
  }
  return cases;
}

/// Neither above 0 nor below.
bool Splitter::vanishes(const NormalForm& form, const std::vector<Condition>& conditions) {
  std::vector<Condition> above = conditions;
  std::vector<Condition> below = conditions;
  above.push_back({form, true});
  below.push_back({scaled(form, -1), true});
  return facts_.contradict(above) && facts_.contradict(below);
}

/// The conditions themselves may contradict each other, too.
bool Splitter::vanishes_thoroughly(const NormalForm& form,
                                   const std::vector<Condition>& conditions) {
  std::vector<Condition> above = conditions;
  above.push_back({form, true});
  if (!facts_.contradict_thoroughly(above)) return false;
  above.back() = {scaled(form, -1), true};
  return facts_.contradict_thoroughly(above);
}

/// Conditions that leave no room, such as x ≥ 3 and x ≤ 3, determine an element of an input.
bool Splitter::vanishes_on_border(const NormalForm& form,
                                  const std::vector<Condition>& conditions) {
  for (const Condition& border : conditions) {
    std::vector<Condition> inside = conditions;
    inside.push_back({border.form, true});
    if (border.strict || !facts_.contradict(inside)) continue;
    for (const Summand& summand : border.form) {
      const bool alone = summand.binders.empty() && summand.guards.empty() &&
                         summand.factors.size() == 1 &&
                         summand.factors[0].exponent == Fraction(1) &&
                         summand.factors[0].atom->kind == AtomKind::kRead;
      if (!alone) continue;
      const Atom& element = *summand.factors[0].atom;
      NormalForm rest = border.form;
      std::erase(rest, summand);
      const bool elsewhere = std::any_of(rest.begin(), rest.end(), [&](const Summand& other) {
        return std::any_of(other.factors.begin(), other.factors.end(),
                           [&](const Factor& factor) { return contains(*factor.atom, element); });
      });
      if (elsewhere) continue;
      const NormalForm value = scaled(std::move(rest), -summand.coefficient.inverse());
      if (equality_.equal(replace(form, element, value), {}, context_)) return true;
    }
  }
  return false;
}

bool Splitter::contains(const Form& form, const Atom& part) {
  return std::any_of(form.summands.begin(), form.summands.end(), [&](const Summand& summand) {
    return std::any_of(summand.factors.begin(), summand.factors.end(),
                       [&](const Factor& factor) { return contains(*factor.atom, part); });
  });
}

bool Splitter::contains(const Atom& whole, const Atom& part) {
  return &whole == &part ||
         std::any_of(whole.arguments.begin(), whole.arguments.end(),
                     [&](const Form* argument) { return contains(*argument, part); }) ||
         std::any_of(whole.pieces.begin(), whole.pieces.end(),
                     [&](const Piece& piece) { return contains(*piece.body, part); });
}

NormalForm Splitter::replace(const Factor& factor, const Atom& atom, const NormalForm& value,
                             const FactSet& context) {
  const Atom& own = *factor.atom;
  Arena& arena = laws_.proof.arena;
  NormalForm base = value;
  Fraction exponent = factor.exponent;
  if (&own != &atom) {
    std::vector<NormalForm> arguments;
    for (const Form* argument : own.arguments) {
      arguments.push_back(replace(arena.open(argument), atom, value));
    }
    if (own.kind == AtomKind::kRounded) {
      base = laws_.rounding.rounded(arguments[0], static_cast<core::DataType>(own.tensor), context);
    } else if (own.kind == AtomKind::kWrapped) {
      const core::DataType type = type_of_wrap(own);
      base = is_wrap(own) ? laws_.wrapping.wrapped(arguments[0], type, context)
                          : laws_.wrapping.truncated(arguments[0], type, context);
    } else if (own.kind == AtomKind::kReciprocal) {
      base = laws_.simplifier.reciprocal(arguments[0], context);
    } else if (own.kind == AtomKind::kApply && own.function == Function::kExp) {
      arguments[0] = scaled(std::move(arguments[0]), std::exchange(exponent, Fraction(1)));
      base = laws_.functions.apply(own.function, arguments, context);
    } else if (own.kind == AtomKind::kApply) {
      base = laws_.functions.apply(own.function, arguments, context);
    } else {
      std::vector<OpenPiece> pieces = open_pieces(laws_.proof.arena, own);
      for (OpenPiece& piece : pieces) piece.body = replace(piece.body, atom, value);
      base = laws_.maxima.maximum(std::move(pieces), context);
    }
  }
  if (!exponent.is_integer()) throw OutOfBudget{"a root of a maximum"};
  if (exponent.sign() < 0) base = laws_.simplifier.reciprocal(base, context);
  NormalForm result{Summand{}};
  for (std::int64_t k = exponent.magnitude().numerator(); k > 0; --k) {
    result = laws_.simplifier.product(result, base, context);
  }
  return result;
}

NormalForm Splitter::replace(const NormalForm& form, const Atom& atom, const NormalForm& value) {
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

}  // namespace

bool zero_in_every_order(Laws& laws, Equality& equality, const NormalForm& form,
                         const FactSet& context, const std::vector<const Atom*>& non_negative,
                         bool thorough) {
  Splitter splitter(laws, equality, context, thorough);
  if (!thorough) return splitter.zero(form, {}, 0, 0);
  const NormalForm whole = splitter.with_signs(form, non_negative);
  return splitter.zero(whole, OrderFacts(laws, context).elements(whole), 0, 0);
}

}  // namespace soapstone::verifier
