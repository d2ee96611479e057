// Equations are taken one by one, until none can be solved any more.
#include "ops/gradients/elimination.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/definition/indexing.h"

namespace soapstone::ops {
namespace {

bool is_affine_in(const Polynomial& p, Symbol variable) {
  return std::ranges::all_of(p.terms(), [&](const Polynomial::Term& term) {
    return term.monomial.size() == 1 ||
           std::ranges::find(term.monomial, variable) == term.monomial.end();
  });
}

/// Whether `a` has more values than `b`: a size that is a symbol counts as larger than a number.
/// Of two symbols neither does.
bool is_longer(const Binder& a, const Binder& b) {
  const auto length_a = (a.high - a.low).as_constant(), length_b = (b.high - b.low).as_constant();
  if (!length_a || !length_b) return !length_a && length_b;
  return *length_a > *length_b;
}

/// The equation without a factor that all its terms share.
Polynomial without_common_factor(const Polynomial& equation) {
  std::int64_t divisor = equation.constant();
  for (const auto& term : equation.terms()) divisor = std::gcd(divisor, term.coefficient);
  return divisor > 1 ? *divide_exactly(equation, divisor) : equation;
}

/// Where a variable may lie when everything around it is taken at its worst.
class Bounds {
 public:
  Bounds(std::span<const Binder> around, std::span<const Binder> inside) {
    for (const auto& binders : {around, inside})
      for (const Binder& b : binders) binders_.push_back(&b);
  }

  bool always_holds(const Constraint& c) const {
    return is_never_negative(c.expression) &&
           (c.kind == Constraint::Kind::kNonNegative || is_never_negative(-c.expression));
  }

 private:
  /// Replaces each index variable by the bound at which the value is least. What is left is in
  /// sizes, which are not negative.
  bool is_never_negative(Polynomial p) const {
    for (const Binder* b : binders_) {
      if (!p.mentions(b->variable)) continue;
      if (!is_affine_in(p, b->variable)) return false;
      const std::int64_t c = p.coefficient(b->variable);
      p = substituted(p, {{b->variable, c > 0 ? b->low : b->high - 1}});
    }
    return p.constant() >= 0 && std::ranges::all_of(p.terms(), [](const Polynomial::Term& term) {
             return term.coefficient > 0 && std::ranges::none_of(term.monomial, &Symbol::is_index);
           });
  }

  std::vector<const Binder*> binders_;
};

class Elimination {
 public:
  explicit Elimination(IndexDomain& domain) : domain_(domain) {}

  Substitution run() {
    while (eliminate_solved() || eliminate_point()) {
    }
    return std::move(values_);
  }

 private:
  /// A binder with one value is that value.
  bool eliminate_point() {
    for (std::size_t b = 0; b < domain_.binders.size(); ++b) {
      const Binder& binder = domain_.binders[b];
      if (binder.high - binder.low != Polynomial(1)) continue;
      replace(b, binder.low);
      return true;
    }
    return false;
  }

  bool eliminate_solved() {
    for (std::size_t e = 0; e < domain_.constraints.size(); ++e) {
      Constraint& equation = domain_.constraints[e];
      if (equation.kind != Constraint::Kind::kZero) continue;
      equation.expression = without_common_factor(equation.expression);
      const auto longest = longest_in(equation.expression);
      if (!longest) continue;
      const Binder binder = domain_.binders[*longest];
      const std::int64_t c = equation.expression.coefficient(binder.variable);
      if (std::abs(c) != 1 || !is_affine_in(equation.expression, binder.variable) ||
          is_minor_digit(binder, equation.expression))
        continue;
      const Polynomial value = Polynomial(binder.variable) - equation.expression * Polynomial(c);
      domain_.constraints.erase(domain_.constraints.begin() + static_cast<std::ptrdiff_t>(e));
      replace(*longest, value);
      domain_.constraints.push_back(at_least(value, binder.low));
      domain_.constraints.push_back(less(value, binder.high));
      return true;
    }
    return false;
  }

  /// Whether another binder moves the equation by no less than this one's whole length, as g does
  /// in 8·g + i with i < 8: each g fits few values alone, so that solving for i would not spare
  /// any.
  bool is_minor_digit(const Binder& binder, const Polynomial& equation) const {
    const Polynomial length = binder.high - binder.low;
    return std::ranges::any_of(domain_.binders, [&](const Binder& other) {
      if (other.variable == binder.variable || !equation.mentions(other.variable)) return false;
      if (!is_affine_in(equation, other.variable)) return true;  // times a size
      const std::int64_t step = std::abs(equation.coefficient(other.variable));
      return step > 1 && length.is_constant() && step >= length.constant();
    });
  }

  std::optional<std::size_t> longest_in(const Polynomial& equation) const {
    std::optional<std::size_t> longest;
    for (std::size_t b = 0; b < domain_.binders.size(); ++b) {
      if (!equation.mentions(domain_.binders[b].variable)) continue;
      if (!longest || is_longer(domain_.binders[b], domain_.binders[*longest])) longest = b;
    }
    return longest;
  }

  void replace(std::size_t binder, const Polynomial& value) {
    const Substitution by{{domain_.binders[binder].variable, value}};
    values_.insert_or_assign(domain_.binders[binder].variable, value);
    domain_.binders.erase(domain_.binders.begin() + static_cast<std::ptrdiff_t>(binder));
    for (Binder& b : domain_.binders)
      b = {b.variable, substituted(b.low, by), substituted(b.high, by)};
    for (auto& [variable, earlier] : values_) earlier = substituted(earlier, by);
    domain_.constraints = substituted(std::move(domain_.constraints), by);
  }

  IndexDomain& domain_;
  Substitution values_;
};

}  // namespace

Substitution eliminate(IndexDomain& domain, std::span<const Binder> around) {
  Substitution values = Elimination(domain).run();
  const Bounds bounds(around, domain.binders);
  std::erase_if(domain.constraints, [&](const Constraint& c) { return bounds.always_holds(c); });
  return values;
}

}  // namespace soapstone::ops
