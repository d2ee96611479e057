// See ingredients.h.
#include "ops/analysis/ingredients.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

/// Whether a node of the expression is as asked for.
template <class Is>
bool contains(const ExprNode& node, Is is) {
  if (is(node)) return true;
  const auto in_argument = [&](const Expr& argument) { return contains(*argument, is); };
  const auto in_alternative = [&](const Alternative& each) { return contains(*each.body, is); };
  return std::ranges::any_of(node.arguments, in_argument) ||
         std::ranges::any_of(node.alternatives, in_alternative);
}

template <class Is>
bool contains(const Semantics& semantics, Is is) {
  return std::ranges::any_of(semantics.stages,
                             [&](const Stage& stage) { return contains(*stage.body, is); });
}

}  // namespace

bool has_steps(const Semantics& semantics) {
  return contains(semantics, [](const ExprNode& node) {
    return node.kind == ExprKind::kApply && properties(node.function).integral;
  });
}

bool names_numbers(const Semantics& semantics) {
  return contains(semantics, [](const ExprNode& node) {
    const Rational& number = node.number;
    const bool is_simple =
        number.denominator == 1 && number.numerator >= -1 && number.numerator <= 1;
    return node.kind == ExprKind::kNumber && !is_simple;
  });
}

}  // namespace soapstone::ops
