// Cases may overlap at their borders: the form must be 0 in all of them.
#include "verifier/order_cases.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

using ops::Function;

constexpr int kMaxDepth = 7;

/// form ≥ 0, or > 0.
struct Condition {
  NormalForm form;
  bool strict = false;
};

/// What an atom is where all conditions hold.
struct Case {
  std::vector<Condition> conditions;
  NormalForm value;
};

NormalForm difference(const NormalForm& a, const NormalForm& b) {
  NormalForm result = a;
  for (Term term : b) {
    term.coefficient = -term.coefficient;
    result.push_back(std::move(term));
  }
  return collected(std::move(result));
}

bool is_plain(const Piece& piece) { return piece.binders.empty() && piece.guards.empty(); }

class Splitter {
 public:
  Splitter(Normalizer& normalizer, Checker& checker, const FactSet& context)
      : normalizer_(normalizer), checker_(checker), context_(context) {}

  bool zero(const NormalForm& form, const std::vector<Condition>& conditions, int depth) {
    normalizer_.spend();
    const Atom* atom = decidable(form);
    if (atom == nullptr) {
      return checker_.equal(form, {}, context_) || vanishes(form, conditions) ||
             vanishes_on_border(form, conditions);
    }
    if (depth == kMaxDepth) return false;
    const std::vector<Case> cases = cases_of(*atom);
    return std::all_of(cases.begin(), cases.end(), [&](const Case& each) {
      std::vector<Condition> known = conditions;
      known.insert(known.end(), each.conditions.begin(), each.conditions.end());
      for (Condition& condition : known) {
        condition.form = replace(condition.form, *atom, each.value);
      }
      return contradicts(known) || zero(replace(form, *atom, each.value), known, depth + 1);
    });
  }

 private:
  bool is_decidable(const Atom& atom) const;
  const Atom* decidable(const NormalForm& form) const;
  void note_decidable(const NormalForm& form, std::vector<Symbol> bound, const Atom*& best) const;
  std::vector<Case> cases_of(const Atom& atom);
  bool contradicts(const std::vector<Condition>& conditions);
  bool vanishes(const NormalForm& form, const std::vector<Condition>& conditions);
  bool vanishes_on_border(const NormalForm& form, const std::vector<Condition>& conditions);
  NormalForm replace(const NormalForm& form, const Atom& atom, const NormalForm& value);
  NormalForm replace(const Factor& factor, const Atom& atom, const NormalForm& value,
                     const FactSet& context);
  static bool contains(const Atom& whole, const Atom& part);
  static bool contains(const Form& form, const Atom& part);

  Normalizer& normalizer_;
  Checker& checker_;
  const FactSet& context_;
};

bool Splitter::is_decidable(const Atom& atom) const {
  if (normalizer_.is_boolean(atom)) return true;
  if (atom.kind == AtomKind::kMax) {
    return std::all_of(atom.pieces.begin(), atom.pieces.end(), is_plain);
  }
  return atom.kind == AtomKind::kApply &&
         (atom.function == Function::kRelu || atom.function == Function::kAbs ||
          atom.function == Function::kLess || atom.function == Function::kEqual ||
          atom.function == Function::kIsZero);
}

/// The innermost one that has the same value throughout, so that its case can be distinguished.
const Atom* Splitter::decidable(const NormalForm& form) const {
  const Atom* best = nullptr;
  note_decidable(form, {}, best);
  return best;
}

void Splitter::note_decidable(const NormalForm& form, std::vector<Symbol> bound,
                              const Atom*& best) const {
  for (const Term& term : form) {
    std::vector<Symbol> inside = bound;
    inside.insert(inside.end(), term.binders.begin(), term.binders.end());
    for (const Factor& factor : term.factors) {
      const Atom& atom = *factor.atom;
      for (const Form* argument : atom.arguments) note_decidable(argument->terms, inside, best);
      for (const Piece& piece : atom.pieces) {
        std::vector<Symbol> deeper = inside;
        deeper.insert(deeper.end(), piece.binders.begin(), piece.binders.end());
        note_decidable(piece.body->terms, std::move(deeper), best);
      }
      const bool varies = std::any_of(inside.begin(), inside.end(), [&](Symbol symbol) {
        return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
      });
      if (is_decidable(atom) && !varies && (best == nullptr || atom.height < best->height)) {
        best = &atom;
      }
    }
  }
}

std::vector<Case> Splitter::cases_of(const Atom& atom) {
  Arena& arena = normalizer_.arena();
  if (atom.kind == AtomKind::kRead) return {{{}, {Term{}}}, {{}, {}}};
  std::vector<NormalForm> choices;
  if (atom.kind == AtomKind::kMax) {
    for (const Piece& piece : atom.pieces) choices.push_back(arena.open(piece.body));
  } else {
    const NormalForm x = arena.open(atom.arguments[0]);
    const bool alone = atom.arguments.size() == 1;
    const NormalForm gap = alone ? x : difference(arena.open(atom.arguments[1]), x);
    const NormalForm opposite = scaled(gap, -1);
    if (atom.function == Function::kLess) {
      return {{{{gap, true}}, {Term{}}}, {{{opposite}}, {}}};
    }
    if (atom.function == Function::kEqual || atom.function == Function::kIsZero) {
      return {{{{gap}, {opposite}}, {Term{}}}, {{{gap, true}}, {}}, {{{opposite, true}}, {}}};
    }
    const bool relu = atom.function == Function::kRelu;
    choices = {x, relu ? NormalForm{} : scaled(x, -1)};
  }
  std::vector<Case> cases;
  for (const NormalForm& largest : choices) {
    Case each{{}, largest};
    for (const NormalForm& other : choices) {
      if (&other != &largest) each.conditions.push_back({difference(largest, other)});
    }
    cases.push_back(std::move(each));
  }
  return cases;
}

/// Are there no real values of the terms for which all conditions hold? The constants are
/// multiplied by one more unknown, which is positive. Then solutions can be scaled, so the integers
/// decide for the reals, and > 0 is ≥ 1.
bool Splitter::contradicts(const std::vector<Condition>& conditions) {
  NormalForm bodies;
  const auto unknown = [&](Term body) {
    body.coefficient = 1;
    const auto at = std::find(bodies.begin(), bodies.end(), body);
    const auto position = static_cast<std::uint32_t>(at - bodies.begin());
    if (at == bodies.end()) bodies.push_back(std::move(body));
    return Linear(Symbol{position});
  };
  const Linear one = unknown(Term{});
  std::vector<Fact> facts{at_least(one, 1)};
  for (const auto& [condition, strict] : conditions) {
    std::int64_t denominator = 1;
    for (const Term& term : condition) {
      const std::int64_t factor =
          term.coefficient.denominator() / std::gcd(denominator, term.coefficient.denominator());
      if (__builtin_mul_overflow(denominator, factor, &denominator)) return false;
    }
    Linear sum;
    for (const Term& term : condition) {
      sum = sum + unknown(term).scaled((term.coefficient * Fraction(denominator)).numerator());
    }
    facts.push_back(at_least(sum, strict ? 1 : 0));
  }
  for (std::size_t k = 1; k < bodies.size(); ++k) {
    if (normalizer_.non_negative({bodies[k]}, context_)) {
      facts.push_back(at_least(Linear(Symbol{static_cast<std::uint32_t>(k)}), 0));
    }
  }
  return std::any_of(facts.begin(), facts.end(),
                     [](const Fact& fact) { return fact.truth() == false; }) ||
         !normalizer_.oracle().possible_alone(facts);
}

/// Neither above 0 nor below.
bool Splitter::vanishes(const NormalForm& form, const std::vector<Condition>& conditions) {
  std::vector<Condition> above = conditions;
  std::vector<Condition> below = conditions;
  above.push_back({form, true});
  below.push_back({scaled(form, -1), true});
  return contradicts(above) && contradicts(below);
}

/// Conditions that leave no room, such as x ≥ 3 and x ≤ 3, determine an element of an input.
bool Splitter::vanishes_on_border(const NormalForm& form,
                                  const std::vector<Condition>& conditions) {
  for (const Condition& border : conditions) {
    std::vector<Condition> inside = conditions;
    inside.push_back({border.form, true});
    if (border.strict || !contradicts(inside)) continue;
    for (const Term& term : border.form) {
      const bool alone = term.binders.empty() && term.guards.empty() && term.factors.size() == 1 &&
                         term.factors[0].exponent == Fraction(1) &&
                         term.factors[0].atom->kind == AtomKind::kRead;
      if (!alone) continue;
      const Atom& element = *term.factors[0].atom;
      NormalForm rest = border.form;
      std::erase(rest, term);
      const bool elsewhere = std::any_of(rest.begin(), rest.end(), [&](const Term& other) {
        return std::any_of(other.factors.begin(), other.factors.end(),
                           [&](const Factor& factor) { return contains(*factor.atom, element); });
      });
      if (elsewhere) continue;
      const NormalForm value = scaled(std::move(rest), -term.coefficient.inverse());
      if (checker_.equal(replace(form, element, value), {}, context_)) return true;
    }
  }
  return false;
}

bool Splitter::contains(const Form& form, const Atom& part) {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const Term& term) {
    return std::any_of(term.factors.begin(), term.factors.end(),
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
  Arena& arena = normalizer_.arena();
  NormalForm base = value;
  Fraction exponent = factor.exponent;
  if (&own != &atom) {
    std::vector<NormalForm> arguments;
    for (const Form* argument : own.arguments) {
      arguments.push_back(replace(arena.open(argument), atom, value));
    }
    if (own.kind == AtomKind::kRounded) {
      base = normalizer_.rounded(arguments[0], own.tensor, context);
    } else if (own.kind == AtomKind::kReciprocal) {
      base = normalizer_.reciprocal(arguments[0], context);
    } else if (own.kind == AtomKind::kApply && own.function == Function::kExp) {
      arguments[0] = scaled(std::move(arguments[0]), std::exchange(exponent, Fraction(1)));
      base = normalizer_.apply(own.function, arguments, context);
    } else if (own.kind == AtomKind::kApply) {
      base = normalizer_.apply(own.function, arguments, context);
    } else {
      std::vector<Normalizer::OpenPiece> pieces = normalizer_.open(&own);
      for (Normalizer::OpenPiece& piece : pieces) piece.body = replace(piece.body, atom, value);
      base = normalizer_.maximum(std::move(pieces), context);
    }
  }
  if (!exponent.is_integer()) throw OutOfBudget{"a root of a maximum"};
  if (exponent.sign() < 0) base = normalizer_.reciprocal(base, context);
  NormalForm result{Term{}};
  for (std::int64_t k = exponent.magnitude().numerator(); k > 0; --k) {
    result = normalizer_.product(result, base, context);
  }
  return result;
}

NormalForm Splitter::replace(const NormalForm& form, const Atom& atom, const NormalForm& value) {
  NormalForm result;
  for (const Term& term : form) {
    const FactSet inside = unite(context_, term.guards);
    Term kept{term.coefficient, {}, {}, {}};
    std::vector<Factor> touched;
    for (const Factor& factor : term.factors) {
      (contains(*factor.atom, atom) ? touched : kept.factors).push_back(factor);
    }
    if (touched.empty()) {
      result.push_back(term);
      continue;
    }
    NormalForm product{std::move(kept)};
    for (const Factor& factor : touched) {
      product = normalizer_.product(product, replace(factor, atom, value, inside), inside);
    }
    for (Term& part : product) {
      part.guards = unite(part.guards, term.guards);
      part.binders.insert(part.binders.end(), term.binders.begin(), term.binders.end());
      for (Term& simple : normalizer_.simplify(std::move(part), context_)) {
        result.push_back(std::move(simple));
      }
    }
  }
  return collected(std::move(result));
}

}  // namespace

bool zero_in_every_order(Normalizer& normalizer, Checker& checker, const NormalForm& form,
                         const FactSet& context) {
  return Splitter(normalizer, checker, context).zero(form, {}, 0);
}

}  // namespace soapstone::verifier
