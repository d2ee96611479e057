// See order_facts.h. All facts are inequalities between sums of bodies of summands; each body is an
// unknown. What is not known to be true is never added, so what is left out only loses proofs.
#include "verifier/orders/order_facts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "verifier/forms/meeting.h"
#include "verifier/forms/small_forms.h"

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMostPremises = 40;  ///< Premises that are multiplied.
constexpr std::size_t kMostConditions = 140;
constexpr std::size_t kMostKnownElements = 8;  ///< Elements of maxima, from the start.
constexpr std::size_t kMostSummands = 24;      ///< A longer product is left out.

bool is_bound_in(const Summand& summand, const Atom& atom) {
  return std::any_of(summand.binders.begin(), summand.binders.end(), [&](Symbol binder) {
    return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), binder);
  });
}

void add_once(std::vector<const Atom*>& atoms, const Atom* atom) {
  if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) atoms.push_back(atom);
}

/// Atoms of that kind that have one value throughout, wherever they stand.
void collect_atoms(const NormalForm& form, AtomKind kind, const std::vector<Symbol>& bound,
                   std::vector<const Atom*>& found) {
  for (const Summand& summand : form) {
    std::vector<Symbol> inside = bound;
    inside.insert(inside.end(), summand.binders.begin(), summand.binders.end());
    for (const Factor& factor : summand.factors) {
      const Atom& atom = *factor.atom;
      const bool varies = std::any_of(inside.begin(), inside.end(), [&](Symbol symbol) {
        return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
      });
      if (atom.kind == kind && !varies) add_once(found, &atom);
      for (const Form* argument : atom.arguments) {
        collect_atoms(argument->summands, kind, inside, found);
      }
      for (const Piece& piece : atom.pieces) {
        std::vector<Symbol> deeper = inside;
        deeper.insert(deeper.end(), piece.binders.begin(), piece.binders.end());
        collect_atoms(piece.body->summands, kind, deeper, found);
      }
    }
  }
}

void collect_read_factors(const NormalForm& form, std::vector<const Atom*>& reads) {
  for (const Summand& summand : form) {
    for (const Factor& factor : summand.factors) {
      if (factor.atom->kind == AtomKind::kRead) add_once(reads, factor.atom);
      for (const Form* argument : factor.atom->arguments) {
        collect_read_factors(argument->summands, reads);
      }
    }
  }
}

}  // namespace

/// The constants are multiplied by one more unknown, which is positive. Then solutions can be
/// scaled, so the integers decide for the reals, and > 0 is ≥ 1.
class OrderFacts::Table {
 public:
  Table() { facts_.push_back(at_least(unknown(Summand{}), 1)); }

  /// False: the numbers are too large.
  bool add(const Condition& condition) {
    std::int64_t denominator = 1;
    for (const Summand& summand : condition.form) {
      const std::int64_t factor = summand.coefficient.denominator() /
                                  std::gcd(denominator, summand.coefficient.denominator());
      if (__builtin_mul_overflow(denominator, factor, &denominator)) return false;
    }
    Linear sum;
    for (const Summand& summand : condition.form) {
      const Fraction scaled = summand.coefficient * Fraction(denominator);
      sum = sum + unknown(summand).scaled(scaled.numerator());
    }
    facts_.push_back(at_least(sum, condition.strict ? 1 : 0));
    return true;
  }

  void add_signs(Laws& laws, const FactSet& context) {
    for (std::size_t k = 1; k < bodies_.size(); ++k) {
      if (!laws.signs.non_negative(NormalForm{bodies_[k]}, context)) continue;
      facts_.push_back(at_least(Linear(Symbol{static_cast<std::uint32_t>(k)}), 0));
    }
  }

  bool is_false() const {
    return std::any_of(facts_.begin(), facts_.end(),
                       [](const Fact& fact) { return fact.truth() == false; });
  }
  const std::vector<Fact>& facts() const { return facts_; }

 private:
  Linear unknown(Summand body) {
    body.coefficient = 1;
    const auto at = std::find(bodies_.begin(), bodies_.end(), body);
    const auto position = static_cast<std::uint32_t>(at - bodies_.begin());
    if (at == bodies_.end()) bodies_.push_back(std::move(body));
    return Linear(Symbol{position});
  }

  NormalForm bodies_;
  std::vector<Fact> facts_;
};

bool OrderFacts::contradict(const std::vector<Condition>& conditions) {
  Table table;
  for (const Condition& condition : conditions) {
    if (!table.add(condition)) return false;
  }
  table.add_signs(laws_, context_);
  return table.is_false() || !laws_.proof.oracle.possible_alone(table.facts());
}

bool OrderFacts::contradict_thoroughly(const std::vector<Condition>& conditions) {
  laws_.proof.spend();
  Table table;
  for (const Condition& condition : consequences(conditions)) table.add(condition);
  table.add_signs(laws_, context_);
  return table.is_false() || laws_.proof.oracle.contradictory(table.facts());
}

NormalForm OrderFacts::power(const NormalForm& base, int exponent) {
  NormalForm result = constant(1);
  for (int k = 0; k < exponent; ++k) result = laws_.simplifier.product(result, base, context_);
  return result;
}

void OrderFacts::add_axioms(const NormalForm& argument, const NormalForm& value,
                            ops::Function function, std::vector<Condition>& out) {
  std::optional<NormalForm> exponential;
  for (const Axiom& axiom : axioms()) {
    if (axiom.function != function) continue;
    if (axiom.where == Where::kNonNegative && !laws_.signs.non_negative(argument, context_)) {
      continue;
    }
    if (axiom.where == Where::kNonPositive &&
        !laws_.signs.non_negative(negated(argument), context_)) {
      continue;
    }
    NormalForm sum;
    for (const Axiom::Part& part : axiom.parts) {
      NormalForm product =
          laws_.simplifier.product(power(argument, part.x), power(value, part.f), context_);
      if (part.exp > 0) {
        if (!exponential) {
          exponential = laws_.functions.apply(ops::Function::kExp, {argument}, context_);
        }
        product = laws_.simplifier.product(product, power(*exponential, part.exp), context_);
      }
      sum = sum_of(std::move(sum), scaled(std::move(product), part.coefficient));
    }
    out.push_back({std::move(sum)});
  }
}

/// A maximum is no less than any of the values that it is over: plain ones, and those that read an
/// element which occurs elsewhere. `piece` is one that `whole` is over.
void OrderFacts::add_elements(const NormalForm& whole, const OpenPiece& piece,
                              const std::vector<const Atom*>& reads, std::vector<Condition>& out) {
  Arena& arena = laws_.proof.arena;
  const auto add = [&](const Substitution& values) {
    const bool is_there =
        std::all_of(piece.guards.begin(), piece.guards.end(), [&](const Fact& fact) {
          return laws_.proof.implied(context_, fact.substitute(values));
        });
    if (!is_there) return;
    NormalForm element;
    for (const Summand& summand : piece.body) {
      for (Summand& part : arena.substitute(summand, values)) element.push_back(std::move(part));
    }
    out.push_back({sum_of(whole, negated(collected(std::move(element))))});
  };
  if (piece.binders.empty()) {
    add({});
    return;
  }
  std::vector<const Atom*> varying;
  collect_read_factors(piece.body, varying);
  for (const Atom* read : reads) {
    for (const Atom* own : varying) {
      if (const auto values = meeting(*own, *read, piece.binders)) add(*values);
    }
  }
}

std::vector<Condition> OrderFacts::elements(const NormalForm& form) {
  std::vector<const Atom*> reads;
  std::vector<const Atom*> maxima;
  collect_atoms(form, AtomKind::kRead, {}, reads);
  collect_atoms(form, AtomKind::kMax, {}, maxima);
  std::vector<Condition> result;
  for (const Atom* atom : maxima) {
    for (const OpenPiece& piece : open_pieces(laws_.proof.arena, *atom)) {
      if (piece.binders.empty()) continue;
      std::vector<Condition> found;
      add_elements({}, piece, reads, found);
      // It has an element, so it is a maximum by itself.
      for (Condition& each : found) {
        const NormalForm own = laws_.maxima.maximum({piece}, context_);
        result.push_back({sum_of(own, each.form)});
        if (result.size() == kMostKnownElements) return result;
      }
    }
  }
  return result;
}

/// Axioms of the functions in these conditions, and elements of their maxima.
void OrderFacts::add_consequences(const std::vector<Condition>& of, std::vector<const Atom*>& atoms,
                                  std::vector<Condition>& out) {
  std::vector<const Atom*> reads;
  std::vector<const Atom*> found;
  std::vector<std::vector<Factor>> exponentials;
  for (const Condition& condition : of) {
    collect_atoms(condition.form, AtomKind::kRead, {}, reads);
    for (const Summand& summand : condition.form) {
      std::vector<Factor> exponential;
      for (const Factor& factor : summand.factors) {
        if (is_bound_in(summand, *factor.atom)) continue;
        const bool is_exponential =
            factor.atom->kind == AtomKind::kApply && factor.atom->function == ops::Function::kExp;
        if (is_exponential) {
          exponential.push_back(factor);
        } else if (std::find(atoms.begin(), atoms.end(), factor.atom) == atoms.end()) {
          add_once(found, factor.atom);
        }
      }
      const bool known =
          std::find(exponentials.begin(), exponentials.end(), exponential) != exponentials.end();
      if (!exponential.empty() && !known) exponentials.push_back(std::move(exponential));
    }
  }
  // exp(a)ⁱ·exp(b)ᵏ is exp(i·a + k·b).
  for (const std::vector<Factor>& product : exponentials) {
    NormalForm argument;
    for (const Factor& factor : product) {
      const NormalForm inside = laws_.proof.arena.open(factor.atom->arguments[0]);
      argument = sum_of(std::move(argument), scaled(inside, factor.exponent));
    }
    add_axioms(argument, {Summand{1, {}, {}, product}}, ops::Function::kExp, out);
  }
  for (const Atom* atom : found) {
    atoms.push_back(atom);
    const NormalForm value{Summand{1, {}, {}, {{atom, 1}}}};
    if (atom->kind == AtomKind::kApply && atom->arguments.size() == 1) {
      add_axioms(laws_.proof.arena.open(atom->arguments[0]), value, atom->function, out);
    }
    if (atom->kind != AtomKind::kMax) continue;
    for (const OpenPiece& piece : open_pieces(laws_.proof.arena, *atom)) {
      add_elements(value, piece, reads, out);
    }
  }
}

std::vector<Condition> OrderFacts::consequences(const std::vector<Condition>& conditions) {
  std::vector<const Atom*> atoms;
  std::vector<Condition> first;
  std::vector<Condition> second;
  add_consequences(conditions, atoms, first);
  add_consequences(first, atoms, second);
  std::vector<Condition> premises = conditions;
  premises.insert(premises.end(), first.begin(), first.end());
  for (const Atom* atom : atoms) {
    const NormalForm value{Summand{1, {}, {}, {{atom, 1}}}};
    if (laws_.signs.non_negative(value, context_)) premises.push_back({value});
  }
  premises.insert(premises.end(), second.begin(), second.end());
  std::vector<Condition> all = premises;
  // (a ± ½)² and (a ± 1)²
  for (const Atom* atom : atoms) {
    if (atom->kind != AtomKind::kRead) continue;
    for (const Fraction& offset : {Fraction(1, 2), Fraction(-1, 2), Fraction(1), Fraction(-1)}) {
      const NormalForm sum = sum_of({Summand{1, {}, {}, {{atom, 1}}}}, constant(offset));
      all.push_back({laws_.simplifier.product(sum, sum, context_)});
    }
  }
  const std::size_t count = std::min(premises.size(), kMostPremises);
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t k = 0; k <= j && all.size() < kMostConditions; ++k) {
      if (premises[j].form.size() * premises[k].form.size() > kMostSummands) continue;
      laws_.proof.spend();
      all.push_back({laws_.simplifier.product(premises[j].form, premises[k].form, context_)});
    }
  }
  return all;
}

}  // namespace soapstone::verifier
