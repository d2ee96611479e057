// See equations.h. What is solved has coefficient 1 or −1, so integers stay integers.
#include "verifier/forms/equations.h"

#include <algorithm>

namespace soapstone::verifier {
namespace {

/// e ≥ 0 and −e ≥ 0 are e = 0.
void pair_up_inequalities(FactSet& guards) {
  for (std::size_t k = 0; k < guards.size(); ++k) {
    if (guards[k].kind != Fact::Kind::kNonNegative) continue;
    const Fact opposite = at_least(-guards[k].expression, 0);
    if (!contains(guards, opposite)) continue;
    const Fact equation = equal(guards[k].expression, 0);
    std::erase(guards, opposite);
    std::erase_if(guards, [&](const Fact& fact) {
      return fact.kind == Fact::Kind::kNonNegative && at_least(-fact.expression, 0) == opposite;
    });
    insert(guards, equation);
    k = static_cast<std::size_t>(-1);
  }
}

/// The value of the symbol that the equation gives it, if its coefficient is 1 or −1.
std::optional<Linear> solved_for(const Fact& equation, Symbol symbol) {
  const std::int64_t coefficient = equation.expression.coefficient(symbol);
  if ((coefficient != 1 && coefficient != -1) || !equation.expression.is_linear_in(symbol)) {
    return std::nullopt;
  }
  const Linear rest = equation.expression - Linear(symbol).scaled(coefficient);
  return rest.scaled(-coefficient);
}

constexpr std::int64_t kMaxUnrolled = 9;

}  // namespace

bool solve_equations(FactSet& known, std::vector<Symbol>& binders, Substitution& solved) {
  for (bool again = true; again;) {
    again = false;
    pair_up_inequalities(known);
    for (const Fact& fact : known) {
      if (fact.kind != Fact::Kind::kZero) continue;
      for (Symbol binder : binders) {
        const auto value = solved_for(fact, binder);
        if (!value) continue;
        const Substitution step{{binder, *value}};
        FactSet guards;
        for (const Fact& other : known) {
          if (other == fact) continue;
          Fact replaced = other.substitute(step);
          const auto truth = replaced.truth();
          if (truth == false) return false;
          if (!truth) insert(guards, std::move(replaced));
        }
        for (auto& [symbol, old] : solved) old = old.substitute(step);
        solved.emplace_back(binder, *value);
        std::erase(binders, binder);
        known = std::move(guards);
        again = true;
        break;
      }
      if (again) break;
    }
  }
  return true;
}

SymbolBounds bounds_of(const FactSet& guards, Symbol symbol) {
  SymbolBounds bounds;
  for (const Fact& fact : guards) {
    if (!fact.expression.mentions(symbol)) {
      bounds.others.push_back(fact);
      continue;
    }
    const std::int64_t coefficient = fact.expression.coefficient(symbol);
    if (fact.kind == Fact::Kind::kZero || !fact.expression.is_linear_in(symbol) ||
        (coefficient != 1 && coefficient != -1)) {
      bounds.simple = false;
      continue;
    }
    const Linear rest = fact.expression - Linear(symbol).scaled(coefficient);
    (coefficient == 1 ? bounds.low : bounds.high).push_back(coefficient == 1 ? -rest : rest);
  }
  return bounds;
}

std::optional<std::pair<std::int64_t, std::int64_t>> constant_range(const FactSet& guards,
                                                                    Symbol symbol) {
  std::optional<std::int64_t> low;
  std::optional<std::int64_t> high;
  for (const Fact& fact : guards) {
    const std::int64_t coefficient = fact.expression.coefficient(symbol);
    if (fact.kind != Fact::Kind::kNonNegative || (coefficient != 1 && coefficient != -1)) continue;
    const Linear rest = fact.expression - Linear(symbol).scaled(coefficient);
    if (!rest.is_constant()) continue;
    const std::int64_t bound = -coefficient * rest.constant();
    if (coefficient == 1) low = low ? std::max(*low, bound) : bound;
    if (coefficient == -1) high = high ? std::min(*high, bound) : bound;
  }
  if (!low || !high || *high - *low >= kMaxUnrolled) return std::nullopt;
  return std::pair(*low, *high);
}

}  // namespace soapstone::verifier
