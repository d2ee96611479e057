// See constraints.h. Implication is decided by simple means only: an equation follows if it is a
// known one or a combination of them, an inequality if it exceeds a known one by an expression that
// is never negative.
#include "rules/rule/constraints.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;
using ops::DerivedSize;
using ops::SizeConstraint;

namespace {

/// The number of the symbol follows: `choose 3`. The lower bound comes first.
constexpr std::string_view kChosenLabel = "choose ";

}  // namespace

bool is_stated(const SizeConstraint& constraint) {
  return constraint.label == kStatedLabel || constraint.label.starts_with(kChosenLabel);
}

std::vector<SizeConstraint> conditions_of(const ChosenSize& chosen) {
  const std::string label = std::string(kChosenLabel) + std::to_string(chosen.symbol.id);
  const Polynomial size(chosen.symbol);
  return {{SizeConstraint::Kind::kNonNegative, size - chosen.low, label},
          {SizeConstraint::Kind::kNonNegative, chosen.high - size, label}};
}

std::vector<ChosenSize> chosen_sizes(const std::vector<SizeConstraint>& guard) {
  std::vector<ChosenSize> chosen;
  for (std::size_t k = 0; k + 1 < guard.size(); ++k) {
    if (!guard[k].label.starts_with(kChosenLabel) || guard[k + 1].label != guard[k].label) continue;
    const std::string number = guard[k].label.substr(kChosenLabel.size());
    const Symbol symbol{static_cast<std::uint32_t>(std::stoul(number))};
    const Polynomial size(symbol);
    chosen.push_back({symbol, size - guard[k].expression, guard[k + 1].expression + size});
    ++k;
  }
  return chosen;
}

std::vector<Symbol> size_symbols(const Graph& side) {
  std::vector<Symbol> symbols;
  for (TensorId id : side.inputs())
    for (const core::Size& size : side.tensor(id).type.shape) {
      const auto inside = size.symbols();
      if (inside.size() == 1 && size == Polynomial(inside[0])) symbols.push_back(inside[0]);
    }
  std::ranges::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
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

/// Whether p, times a number, is a sum of multiples of the expressions that are zero.
bool is_combination(Polynomial p, std::vector<Polynomial> zeros) {
  // Elimination: each expression in turn clears its last monomial from all that follow.
  while (!zeros.empty() && !p.is_constant()) {
    const Polynomial pivot = zeros.back();
    zeros.pop_back();
    if (pivot.is_constant()) continue;
    const Polynomial::Term lead = pivot.terms().back();
    const auto clear = [&](Polynomial& q) {
      for (const Polynomial::Term& term : q.terms()) {
        if (term.monomial != lead.monomial) continue;
        const std::int64_t divisor = std::gcd(term.coefficient, lead.coefficient);
        const auto left = Polynomial::checked_multiply(q, lead.coefficient / divisor);
        const auto right = Polynomial::checked_multiply(pivot, -(term.coefficient / divisor));
        const auto sum = left && right ? Polynomial::checked_add(*left, *right) : std::nullopt;
        if (!sum) return false;
        q = *sum;
        return true;
      }
      return true;
    };
    if (!clear(p)) return false;
    std::erase_if(zeros, [&](Polynomial& q) { return !clear(q); });
  }
  return p == Polynomial(0);
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
  std::vector<Polynomial> known;
  for (const SizeConstraint& c : assumptions)
    if (c.kind == SizeConstraint::Kind::kZero) known.push_back(c.expression);
  for (const SizeConstraint& wanted : requirements) {
    const bool listed = std::ranges::any_of(open, [&](const SizeConstraint& c) {
      return c.kind == wanted.kind && c.expression == wanted.expression;
    });
    if (listed || follows(wanted, assumptions, sizes)) continue;
    if (wanted.kind == SizeConstraint::Kind::kZero && is_combination(wanted.expression, known))
      continue;
    open.push_back(wanted);
    if (wanted.kind == SizeConstraint::Kind::kZero) known.push_back(wanted.expression);
  }
  return open;
}

bool guard_holds(const Rule& rule, std::vector<std::int64_t>& sizes) {
  if (rule.guard.empty() && rule.derived.empty()) return true;
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

bool has_empty_tensor(const Graph& graph) {
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    const TensorId id(k);
    if (!graph.contains(id)) continue;
    const core::Shape& shape = graph.tensor(id).type.shape;
    if (std::ranges::find(shape, Polynomial(0)) != shape.end()) return true;
  }
  return false;
}

std::string to_string(const SizeConstraint& constraint, const core::SymbolTable& symbols) {
  return constraint.expression.to_string(symbols) +
         (constraint.kind == SizeConstraint::Kind::kZero ? " = 0" : " >= 0");
}

}  // namespace soapstone::rules
