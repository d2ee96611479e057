// Demands are compared as sums over their bound variables: equal bodies, equal ranges.
#include "verifier/domain.h"

#include <algorithm>
#include <utility>

#include "verifier/checker.h"

namespace soapstone::verifier {
namespace {

/// Formats of rounding are small numbers; these are none.
enum class Box : std::uint32_t { kNotZero = 1U << 16, kNotNegative, kFirst, kSecond };

bool has(std::span<const Symbol> symbols, Symbol symbol) {
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

}  // namespace

void Domain::require(Arena& arena, Demand demand, const NormalForm& form, const FactSet& facts,
                     std::span<const Symbol> outer, std::span<const Choice> choices) {
  Term term;
  const auto add = [&](const NormalForm& inside, Box box) {
    term.factors.push_back({arena.rounded(arena.form(inside), static_cast<std::uint32_t>(box)), 1});
  };
  add(form, demand == Demand::kNotZero ? Box::kNotZero : Box::kNotNegative);
  for (const Choice& choice : choices) {
    add(choice.form, choice.is_first ? Box::kFirst : Box::kSecond);
  }
  term.factors = Arena::product(std::move(term.factors));
  for (Symbol symbol : Arena::free_symbols(term)) {
    if (Arena::is_variable(symbol) && !has(outer, symbol)) term.binders.push_back(symbol);
  }
  // Sums around the demand over what it does not mention are over something.
  for (const Fact& fact : facts) {
    std::vector<Symbol> symbols;
    fact.expression.append_symbols(symbols);
    const bool concerns = std::all_of(symbols.begin(), symbols.end(), [&](Symbol symbol) {
      return !Arena::is_variable(symbol) || has(outer, symbol) || has(term.binders, symbol);
    });
    if (concerns) insert(term.guards, fact);
  }
  if (std::find(demands_.begin(), demands_.end(), term) == demands_.end()) {
    demands_.push_back(std::move(term));
  }
}

std::vector<const Atom*> Domain::non_negative_elements(const FactSet& context) const {
  std::vector<const Atom*> result;
  for (const Term& demand : demands_) {
    const bool always = demand.binders.empty() && demand.factors.size() == 1 &&
                        std::all_of(demand.guards.begin(), demand.guards.end(),
                                    [&](const Fact& fact) { return contains(context, fact); });
    const Atom& box = *demand.factors[0].atom;
    if (!always || box.tensor != static_cast<std::uint32_t>(Box::kNotNegative)) continue;
    const NormalForm& form = box.arguments[0]->terms;
    const bool is_element = form.size() == 1 && form[0] == Term{1, {}, {}, form[0].factors} &&
                            form[0].factors.size() == 1 &&
                            form[0].factors[0].exponent == Fraction(1) &&
                            form[0].factors[0].atom->kind == AtomKind::kRead;
    if (is_element) result.push_back(form[0].factors[0].atom);
  }
  return result;
}

bool Domain::covers(const Term& demand, Checker& checker, const FactSet& context) const {
  const auto within = [&](Term term) {
    std::erase_if(term.guards, [&](const Fact& fact) { return contains(context, fact); });
    return NormalForm{std::move(term)};
  };
  return std::any_of(demands_.begin(), demands_.end(), [&](const Term& own) {
    return checker.equal(within(own), within(demand), context);
  });
}

bool Domain::demands_no_more_than(const Domain& other, Checker& checker,
                                  const FactSet& context) const {
  return std::all_of(demands_.begin(), demands_.end(),
                     [&](const Term& demand) { return other.covers(demand, checker, context); });
}

}  // namespace soapstone::verifier
