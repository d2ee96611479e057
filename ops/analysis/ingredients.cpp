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

bool is_sign(const ExprNode& node) {
  return node.kind == ExprKind::kNumber && node.number == Rational{-1, 1};
}

/// The expression less a factor of −1; null: it has none.
const ExprNode* negated(const ExprNode& node) {
  if (node.kind != ExprKind::kMul || node.arguments.size() != 2) return nullptr;
  if (is_sign(*node.arguments[0])) return node.arguments[1].get();
  return is_sign(*node.arguments[1]) ? node.arguments[0].get() : nullptr;
}

bool chooses(const ExprNode& node);

/// −max(−a, −b, …): a minimum.
bool is_minimum_of_choices(const ExprNode& node) {
  const ExprNode* largest = negated(node);
  return largest != nullptr && largest->kind == ExprKind::kMax &&
         std::ranges::all_of(largest->alternatives, [](const Alternative& each) {
           const ExprNode* choice = negated(*each.body);
           return each.body->kind == ExprKind::kNumber || (choice != nullptr && chooses(*choice));
         });
}

bool chooses(const ExprNode& node) {
  switch (node.kind) {
  case ExprKind::kNumber:
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return true;
  case ExprKind::kGuard:
    return chooses(*node.arguments[0]);
  case ExprKind::kMax:
    return std::ranges::all_of(node.alternatives,
                               [](const Alternative& each) { return chooses(*each.body); });
  case ExprKind::kApply:
    if (node.function == Function::kRelu) return chooses(*node.arguments[0]);
    return node.function == Function::kSelect && chooses(*node.arguments[1]) &&
           chooses(*node.arguments[2]);
  case ExprKind::kMul:
    return is_minimum_of_choices(node);
  default:
    return false;
  }
}

}  // namespace

bool only_chooses(const Semantics& semantics) {
  return std::ranges::all_of(semantics.stages,
                             [](const Stage& stage) { return chooses(*stage.body); });
}

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
