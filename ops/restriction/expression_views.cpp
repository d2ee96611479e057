// Views of expressions.
#include "ops/restriction/expression_views.h"

#include <algorithm>

#include "ops/language/rational.h"

namespace soapstone::ops::partition {
namespace {

bool has_value(const Rational& r) { return r.numerator != 0 && r.denominator != 0; }

}  // namespace

bool is_read(const ExprNode& e) {
  return e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat;
}
bool is_sum_or_guard(const ExprNode& e) {
  return e.kind == ExprKind::kGuard || e.kind == ExprKind::kSum;
}
bool is_number(const ExprNode& e) { return e.kind == ExprKind::kNumber; }

Ratio quotient(Rational a, Rational b) {
  if (!has_value(a) || !has_value(b)) return a == b ? Ratio(kOne) : std::nullopt;
  const std::int64_t sign = b.numerator < 0 ? -1 : 1;
  return product_of(a, {sign * b.denominator, sign * b.numerator});
}

Factors factors_of(const ExprNode& e) {
  Factors factors;
  const auto add = [&](const ExprNode& factor) {
    if (is_number(factor))
      factors.numbers.push_back(factor.number);
    else
      factors.others.push_back(&factor);
  };
  if (e.kind != ExprKind::kMul) add(e);
  if (e.kind == ExprKind::kMul)
    for (const Expr& factor : e.arguments) add(*factor);
  return factors;
}

Ratio quotient(const std::vector<Rational>& a, std::vector<Rational> b) {
  Ratio above = kOne, below = kOne;
  for (const Rational& number : a)
    if (const auto same = std::ranges::find(b, number); same != b.end())
      b.erase(same);
    else
      above = above ? product_of(*above, number) : std::nullopt;
  for (const Rational& number : b) below = below ? product_of(*below, number) : std::nullopt;
  return above && below ? quotient(*above, *below) : std::nullopt;
}

Bound bound_of(const ExprNode& e) {
  Bound bound{{}, {}, &e};
  while (is_sum_or_guard(*bound.body)) {
    const ExprNode& outer = *bound.body;
    bound.binders.insert(bound.binders.end(), outer.binders.begin(), outer.binders.end());
    bound.constraints.insert(bound.constraints.end(), outer.constraints.begin(),
                             outer.constraints.end());
    bound.body = outer.arguments[0].get();
  }
  return bound;
}

Ratio quotient_of_counts(const Bound& a, const Bound& b) {
  const auto times = [](const Bound& bound) -> Ratio {
    Ratio product = bound.body->number;
    for (const Binder& binder : bound.binders) {
      const auto count = (binder.high - binder.low).as_constant();
      if (!count || !product) return std::nullopt;
      product = product_of(*product, {*count, 1});
    }
    return product;
  };
  const Ratio p = times(a), q = times(b);
  return p && q ? quotient(*p, *q) : std::nullopt;
}

}  // namespace soapstone::ops::partition
