// Substitution, one unknown after the other.
#include "ops/restriction/equations.h"

#include <algorithm>
#include <optional>

namespace soapstone::ops::partition {

Polynomial with_solution(const Polynomial& p, const Solution& solution) {
  if (solution.empty()) return p;
  return p.substitute([&](Symbol symbol) -> std::optional<Polynomial> {
    const auto found = solution.find(symbol);
    return found == solution.end() ? std::nullopt : std::optional(Polynomial(found->second));
  });
}

bool has_unknown(const Polynomial& p) { return std::ranges::any_of(p.symbols(), is_unknown); }

void solve(std::vector<Polynomial> equations, Solution& known) {
  for (bool found = true; found;) {
    found = false;
    for (Polynomial& equation : equations) {
      equation = with_solution(equation, known);
      const auto terms = equation.terms();
      if (terms.size() != 1 || terms[0].monomial.size() != 1) continue;
      const std::int64_t coefficient = terms[0].coefficient;
      if (equation.constant() % coefficient != 0) continue;
      known.emplace(terms[0].monomial[0], -equation.constant() / coefficient);
      found = true;
    }
  }
}

}  // namespace soapstone::ops::partition
