// See constraints.h. What follows is decided by simple means only: an equation that is one of the
// known ones or a sum of two, an inequality that exceeds a known one by what is never negative.
#include "rules/constraints.h"

#include <algorithm>

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;
using ops::DerivedSize;
using ops::SizeConstraint;

std::vector<Symbol> size_symbols(const Graph& side) {
  std::vector<Symbol> symbols;
  for (TensorId id : side.inputs())
    for (const core::Size& size : side.tensor(id).type.shape) {
      const auto inside = size.symbols();
      if (inside.size() == 1 && size == Polynomial(inside[0])) symbols.push_back(inside[0]);
    }
  std::ranges::sort(symbols);
  const auto rest = std::ranges::unique(symbols);
  symbols.erase(rest.begin(), rest.end());
  return symbols;
}

namespace {

/// Certainly ≥ 0 because no term is negative.
bool is_non_negative(const Polynomial& p, const std::vector<Symbol>& sizes) {
  if (p.constant() < 0) return false;
  return std::ranges::all_of(p.terms(), [&](const Polynomial::Term& term) {
    return term.coefficient > 0 && std::ranges::all_of(term.monomial, [&](Symbol s) {
             return std::ranges::binary_search(sizes, s);
           });
  });
}

/// Whether p is one of the expressions that are zero, or a sum or difference of two of them.
bool is_zero(const Polynomial& p, const std::vector<SizeConstraint>& assumptions) {
  std::vector<Polynomial> zeros{Polynomial(0)};
  for (const SizeConstraint& known : assumptions)
    if (known.kind == SizeConstraint::Kind::kZero)
      zeros.insert(zeros.end(), {known.expression, -known.expression});
  return std::ranges::any_of(
      zeros, [&](const Polynomial& a) { return std::ranges::find(zeros, p - a) != zeros.end(); });
}

bool follows(const SizeConstraint& wanted, const std::vector<SizeConstraint>& assumptions,
             const std::vector<Symbol>& sizes) {
  using Kind = SizeConstraint::Kind;
  const Polynomial& p = wanted.expression;
  if (wanted.kind == Kind::kZero) return is_zero(p, assumptions);
  return is_non_negative(p, sizes) ||
         std::ranges::any_of(assumptions, [&](const SizeConstraint& known) {
           return known.kind == Kind::kNonNegative && is_non_negative(p - known.expression, sizes);
         });
}

}  // namespace

std::vector<SizeConstraint> not_implied(const std::vector<SizeConstraint>& requirements,
                                        const std::vector<SizeConstraint>& assumptions,
                                        const std::vector<Symbol>& sizes) {
  std::vector<SizeConstraint> open;
  for (const SizeConstraint& wanted : requirements) {
    const bool listed = std::ranges::any_of(open, [&](const SizeConstraint& c) {
      return c.kind == wanted.kind && c.expression == wanted.expression;
    });
    if (!listed && !follows(wanted, assumptions, sizes)) open.push_back(wanted);
  }
  return open;
}

bool guard_holds(const Rule& rule, std::vector<std::int64_t>& sizes) {
  if (rule.guard.empty()) return true;
  const auto evaluate = [&](const Polynomial& p) {
    return p.checked_evaluate([&](Symbol s) { return sizes[s.id]; });
  };
  for (const DerivedSize& d : rule.derived) {
    const auto numerator = evaluate(d.numerator);
    if (!numerator) return false;
    sizes[d.symbol.id] = d.kind == DerivedSize::Kind::kMaxZero
                             ? std::max<std::int64_t>(0, *numerator)
                             : *numerator / d.divisor - (*numerator % d.divisor < 0 ? 1 : 0);
  }
  return std::ranges::all_of(rule.guard, [&](const SizeConstraint& c) {
    const auto number = evaluate(c.expression);
    return number && (c.kind == SizeConstraint::Kind::kZero ? *number == 0 : *number >= 0);
  });
}

std::string to_string(const SizeConstraint& constraint, const core::SymbolTable& symbols) {
  return constraint.expression.to_string(symbols) +
         (constraint.kind == SizeConstraint::Kind::kZero ? " = 0" : " >= 0");
}

}  // namespace soapstone::rules
