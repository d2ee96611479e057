// Demands are compared as sums over their bound variables: equal bodies, equal ranges.
#include "verifier/domain.h"

#include <algorithm>
#include <utility>

#include "verifier/checker.h"

namespace soapstone::verifier {
namespace {

bool has(std::span<const Symbol> symbols, Symbol symbol) {
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

}  // namespace

void Domain::require(Arena& arena, Demand demand, const NormalForm& form, const FactSet& facts,
                     std::span<const Symbol> outer, bool is_conditional) {
  const Form* inside = arena.form(form);
  Entry entry;
  entry.is_conditional = is_conditional;
  // Formats of rounding are small numbers; these are none.
  constexpr std::uint32_t kBox = 1U << 16;
  entry.term.factors = {{arena.rounded(inside, kBox + static_cast<std::uint32_t>(demand)), 1}};
  for (Symbol symbol : inside->free_symbols) {
    if (Arena::is_variable(symbol) && !has(outer, symbol)) entry.term.binders.push_back(symbol);
  }
  // Sums around the demand over what it does not mention are over something.
  for (const Fact& fact : facts) {
    std::vector<Symbol> symbols;
    fact.expression.append_symbols(symbols);
    const bool concerns = std::all_of(symbols.begin(), symbols.end(), [&](Symbol symbol) {
      return !Arena::is_variable(symbol) || has(outer, symbol) || has(entry.term.binders, symbol);
    });
    if (concerns) insert(entry.term.guards, fact);
  }
  const bool known = std::any_of(demands_.begin(), demands_.end(), [&](const Entry& other) {
    return other.term == entry.term && other.is_conditional == is_conditional;
  });
  if (!known) demands_.push_back(std::move(entry));
}

bool Domain::covers(const Entry& entry, Checker& checker, const FactSet& context) const {
  const auto within = [&](Term term) {
    std::erase_if(term.guards, [&](const Fact& fact) { return contains(context, fact); });
    return NormalForm{std::move(term)};
  };
  return std::any_of(demands_.begin(), demands_.end(), [&](const Entry& own) {
    return own.is_conditional == entry.is_conditional &&
           checker.equal(within(own.term), within(entry.term), context);
  });
}

bool Domain::equals(const Domain& other, Checker& checker, const FactSet& context) const {
  const auto all_in = [&](const Domain& a, const Domain& b) {
    return std::all_of(a.demands_.begin(), a.demands_.end(),
                       [&](const Entry& entry) { return b.covers(entry, checker, context); });
  };
  return all_in(*this, other) && all_in(other, *this);
}

}  // namespace soapstone::verifier
