// An equation is a number in mixed radix: c₁·v₁ + c₂·v₂ + … = rest. If each coefficient exceeds
// what those after it can reach, the digits follow from the rest; else the binder with most values
// is solved for, at every point of the others.
#include "ops/lowering/equation_tables.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

struct Digit {
  Symbol binder;
  std::int64_t coefficient;
};

bool has_products_with(const Polynomial& p, Symbol variable) {
  return std::ranges::any_of(p.terms(), [&](const Polynomial::Term& term) {
    return term.monomial.size() > 1 &&
           std::ranges::find(term.monomial, variable) != term.monomial.end();
  });
}

/// The binders that the equation is linear in, those with large coefficients first.
std::vector<Digit> digits_of(const Polynomial& equation, const std::vector<Symbol>& binders,
                             const IndexSpace& space) {
  std::vector<Digit> digits;
  for (const Symbol binder : binders)
    if (const std::int64_t c = equation.coefficient(binder);
        c != 0 && !has_products_with(equation, binder) && !space.is_defined(binder))
      digits.push_back({binder, c});
  std::ranges::stable_sort(digits, [](const Digit& a, const Digit& b) {
    return std::abs(a.coefficient) > std::abs(b.coefficient);
  });
  return digits;
}

/// Whether the digits follow from their sum.
bool is_unique(const std::vector<Digit>& digits, const IndexSpace& space) {
  std::int64_t reach = 0;
  for (std::size_t k = digits.size(); k-- > 0;) {
    if ((digits[k].coefficient > 0) != (digits[0].coefficient > 0)) return false;
    if (std::abs(digits[k].coefficient) <= reach) return false;
    reach += std::abs(digits[k].coefficient) * (space.size(digits[k].binder) - 1);
  }
  return true;
}

/// Defines the digits by what is left of the equation. False: the tables would be too large.
bool define(const std::vector<Digit>& digits, const Polynomial& equation, IndexSpace& space,
            std::vector<IndexTable>& masks) {
  // Σ |c|·(v − low) = rest
  const std::int64_t sign = digits[0].coefficient > 0 ? 1 : -1;
  Polynomial rest = equation * Polynomial(-sign);
  for (const Digit& digit : digits) {
    const std::int64_t c = std::abs(digit.coefficient);
    rest = rest + Polynomial(digit.binder) * Polynomial(c) - c * space.low(digit.binder);
  }
  auto left = space.tabulate(rest);
  if (!left) return false;
  IndexTable fits{left->axes, std::vector<std::int64_t>(left->values.size(), 1)};
  for (const Digit& digit : digits) {
    const std::int64_t c = std::abs(digit.coefficient), size = space.size(digit.binder);
    IndexTable value{left->axes, {}};
    for (std::int64_t& l : left->values) {
      const std::int64_t v = std::clamp<std::int64_t>(l / c, 0, size - 1);
      l -= v * c;
      value.values.push_back(space.low(digit.binder) + v);
    }
    space.define(digit.binder, std::move(value));
  }
  for (std::size_t k = 0; k < left->values.size(); ++k)
    if (left->values[k] != 0) fits.values[k] = 0;
  masks.push_back(std::move(fits));
  return true;
}

bool solve(const Polynomial& equation, std::vector<Symbol>& binders, IndexSpace& space,
           std::vector<IndexTable>& masks) {
  std::vector<Digit> digits = digits_of(equation, binders, space);
  if (digits.empty()) return false;
  if (!is_unique(digits, space))
    digits = {*std::ranges::max_element(
        digits, {}, [&](const Digit& digit) { return space.size(digit.binder); })};
  if (!define(digits, equation, space, masks)) return false;
  std::erase_if(binders, [&](Symbol b) { return space.is_defined(b); });
  return true;
}

}  // namespace

void solve_equations(IndexSpace& space, std::vector<Symbol>& binders,
                     std::vector<Constraint>& constraints, std::vector<IndexTable>& masks) {
  for (std::size_t k = 0; k < constraints.size();) {
    if (constraints[k].kind == Constraint::Kind::kZero &&
        solve(constraints[k].expression, binders, space, masks))
      constraints.erase(constraints.begin() + static_cast<std::ptrdiff_t>(k));
    else
      ++k;
  }
}

}  // namespace soapstone::ops
