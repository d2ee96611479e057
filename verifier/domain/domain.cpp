// Demands are compared as sums over their bound variables: equal bodies, equal ranges.
#include "verifier/domain/domain.h"

#include <algorithm>
#include <utility>

#include "verifier/checking/equality.h"
#include "verifier/forms/arena.h"
#include "verifier/forms/meeting.h"
#include "verifier/questions/oracle.h"

namespace soapstone::verifier {
namespace {

/// Formats of rounding are small numbers; these are none.
enum class Box : std::uint32_t { kNotZero = 1U << 16, kNotNegative, kFirst, kSecond, kExponent };

Box box_of(Choice::Role role) {
  switch (role) {
  case Choice::Role::kFirst:
    return Box::kFirst;
  case Choice::Role::kSecond:
    return Box::kSecond;
  case Choice::Role::kExponent:
    return Box::kExponent;
  }
  return Box::kFirst;
}

void collect_reads(const NormalForm& form, std::vector<const Atom*>& reads);

void collect_reads(const Atom& atom, std::vector<const Atom*>& reads) {
  if (atom.kind == AtomKind::kRead) reads.push_back(&atom);
  for (const Form* argument : atom.arguments) collect_reads(argument->summands, reads);
  for (const Piece& piece : atom.pieces) collect_reads(piece.body->summands, reads);
}

void collect_reads(const Summand& summand, std::vector<const Atom*>& reads) {
  for (const Factor& factor : summand.factors) collect_reads(*factor.atom, reads);
}

void collect_reads(const NormalForm& form, std::vector<const Atom*>& reads) {
  for (const Summand& summand : form) collect_reads(summand, reads);
}

/// The facts hold for these symbols at a number near 0, whatever all others are.
bool holds_somewhere(Oracle& oracle, const FactSet& known, const FactSet& facts,
                     const std::vector<Symbol>& symbols) {
  constexpr std::int64_t kPlaces = 4;
  for (std::int64_t place = 0; place < kPlaces; ++place) {
    Substitution values;
    for (Symbol symbol : symbols) values.emplace_back(symbol, Linear(place));
    const bool holds = std::all_of(facts.begin(), facts.end(), [&](const Fact& fact) {
      return oracle.implied(known, fact.substitute(values));
    });
    if (holds) return true;
  }
  return false;
}

}  // namespace

void Domain::require(Arena& arena, Oracle& oracle, Demand demand, const NormalForm& form,
                     const FactSet& facts, std::span<const Symbol> outer,
                     std::span<const Choice> choices) {
  Summand summand;
  const auto add = [&](const NormalForm& inside, Box box) {
    summand.factors.push_back(
        {arena.rounded(arena.form(inside), static_cast<std::uint32_t>(box)), 1});
  };
  add(form, demand == Demand::kNotZero ? Box::kNotZero : Box::kNotNegative);
  for (const Choice& choice : choices) {
    add(choice.form, box_of(choice.role));
  }
  summand.factors = Arena::product(std::move(summand.factors));
  for (Symbol symbol : Arena::free_symbols(summand)) {
    if (Arena::is_variable(symbol) && !has(outer, symbol)) summand.binders.push_back(symbol);
  }
  FactSet around;
  std::vector<Symbol> others;
  for (const Fact& fact : facts) {
    const std::size_t before = others.size();
    std::vector<Symbol> symbols;
    fact.expression.append_symbols(symbols);
    for (Symbol symbol : symbols) {
      const bool is_other =
          Arena::is_variable(symbol) && !has(outer, symbol) && !has(summand.binders, symbol);
      if (is_other) others.push_back(symbol);
    }
    insert(others.size() == before ? summand.guards : around, fact);
  }
  const Summand everywhere = summand;
  // Inside Σ_b, a demand counts only if the range of b is not empty. Drop binders that the demand
  // does not mention if their range certainly has a point; else keep them.
  if (!holds_somewhere(oracle, summand.guards, around, others)) {
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    summand.binders.insert(summand.binders.end(), others.begin(), others.end());
    summand.guards = unite(summand.guards, around);
  }
  if (std::find(demands_.begin(), demands_.end(), summand) == demands_.end()) {
    demands_.push_back(std::move(summand));
    everywhere_.push_back(everywhere);
  }
}

bool Domain::is_unconditional(const Summand& demand, const FactSet& context) {
  return demand.binders.empty() && demand.factors.size() == 1 &&
         std::all_of(demand.guards.begin(), demand.guards.end(),
                     [&](const Fact& fact) { return contains(context, fact); });
}

std::vector<NormalForm> Domain::never_zero(const FactSet& context) const {
  std::vector<NormalForm> result;
  for (const Summand& demand : demands_) {
    const Atom& box = *demand.factors[0].atom;
    if (!is_unconditional(demand, context) ||
        box.tensor != static_cast<std::uint32_t>(Box::kNotZero)) {
      continue;
    }
    result.push_back(box.arguments[0]->summands);
  }
  return result;
}

std::vector<const Atom*> Domain::non_negative_elements(const FactSet& context) const {
  std::vector<const Atom*> result;
  for (const Summand& demand : demands_) {
    const Atom& box = *demand.factors[0].atom;
    if (!is_unconditional(demand, context) ||
        box.tensor != static_cast<std::uint32_t>(Box::kNotNegative))
      continue;
    const NormalForm& form = box.arguments[0]->summands;
    const bool is_element = form.size() == 1 && form[0] == Summand{1, {}, {}, form[0].factors} &&
                            form[0].factors.size() == 1 &&
                            form[0].factors[0].exponent == Fraction(1) &&
                            form[0].factors[0].atom->kind == AtomKind::kRead;
    if (is_element) result.push_back(form[0].factors[0].atom);
  }
  return result;
}

bool Domain::covers(const Summand& demand, bool is_lenient, Equality& equality,
                    const FactSet& context) const {
  const auto within = [&](Summand summand) {
    std::erase_if(summand.guards, [&](const Fact& fact) { return contains(context, fact); });
    return NormalForm{std::move(summand)};
  };
  const std::vector<Summand>& known = is_lenient ? everywhere_ : demands_;
  return std::any_of(known.begin(), known.end(), [&](const Summand& own) {
    return equality.equal(within(own), within(demand), context);
  });
}

/// Whatever the demand's binders are within its guards, it is the other one for some of its own.
/// Which these are is guessed from an element that both read.
bool Domain::is_instance(const Summand& demand, const Summand& own, Arena& arena, Oracle& oracle,
                         Equality& equality) {
  if (demand.factors.size() != own.factors.size()) return false;
  std::vector<const Atom*> wanted;
  std::vector<const Atom*> known;
  collect_reads(demand, wanted);
  collect_reads(own, known);
  Summand body = own;
  body.binders.clear();
  const auto holds_with = [&](const Substitution& values) {
    const NormalForm here = arena.substitute(body, values);
    return here.size() == 1 &&
           std::all_of(here[0].guards.begin(), here[0].guards.end(),
                       [&](const Fact& fact) { return oracle.implied(demand.guards, fact); }) &&
           equality.equal({Summand{1, {}, {}, here[0].factors}},
                          {Summand{1, {}, {}, demand.factors}}, demand.guards);
  };
  if (own.binders.empty()) return holds_with({});
  for (const Atom* varying : known) {
    for (const Atom* fixed : wanted) {
      const auto values = meeting(*varying, *fixed, own.binders);
      if (values && holds_with(*values)) return true;
    }
  }
  return false;
}

bool Domain::is_within(const Domain& other, Arena& arena, Oracle& oracle,
                       Equality& equality) const {
  return std::all_of(everywhere_.begin(), everywhere_.end(), [&](const Summand& demand) {
    return std::any_of(other.demands_.begin(), other.demands_.end(), [&](const Summand& own) {
      return is_instance(demand, own, arena, oracle, equality);
    });
  });
}

bool Domain::demands_no_more_than(const Domain& other, bool is_lenient, Equality& equality,
                                  const FactSet& context) const {
  for (std::size_t k = 0; k < demands_.size(); ++k) {
    if (!other.covers(everywhere_[k], is_lenient, equality, context) &&
        !other.covers(demands_[k], is_lenient, equality, context)) {
      return false;
    }
  }
  return true;
}

}  // namespace soapstone::verifier
