// An expression taken apart for comparison: factors without regard to which numbers were folded,
// and bodies with all that is bound around them.
#pragma once

#include <optional>
#include <vector>

#include "ops/language/comprehension.h"

namespace soapstone::ops::partition {

/// How many times one value is in another; none: they are not proportional, or it does not fit.
using Ratio = std::optional<Rational>;
inline constexpr Rational kOne{1, 1};
Ratio quotient(Rational a, Rational b);

bool is_read(const ExprNode& e);
bool is_number(const ExprNode& e);
/// A sum or a guard.
bool is_sum_or_guard(const ExprNode& e);

struct Factors {
  std::vector<Rational> numbers;  ///< A factor 1 is not written.
  std::vector<const ExprNode*> others;
};
Factors factors_of(const ExprNode& e);
/// Numbers that both have need no arithmetic, which might not fit.
Ratio quotient(const std::vector<Rational>& a, std::vector<Rational> b);

/// The body of sums and guards, with all variables and constraints around it.
struct Bound {
  std::vector<Binder> binders;
  std::vector<Constraint> constraints;
  const ExprNode* body;
};
Bound bound_of(const ExprNode& e);
/// Of two numbers, each as often as there are values of its binders.
Ratio quotient_of_counts(const Bound& a, const Bound& b);

}  // namespace soapstone::ops::partition
