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

class Choice {
 public:
  explicit Choice(const core::Attributes& attributes) {
    for (const auto& [name, value] : attributes.values())
      if (const auto* real = std::get_if<double>(&value)) named_.push_back(to_rational(*real));
  }

  bool chooses(const ExprNode& node) const {
    switch (node.kind) {
    case ExprKind::kNumber:
      return is_named(node.number);
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      return true;
    case ExprKind::kGuard:
      return chooses(*node.arguments[0]);
    case ExprKind::kMax:
      return std::ranges::all_of(node.alternatives,
                                 [&](const Alternative& each) { return chooses(*each.body); });
    case ExprKind::kApply:
      if (node.function == Function::kRelu) return chooses(*node.arguments[0]);
      return node.function == Function::kSelect && chooses(*node.arguments[1]) &&
             chooses(*node.arguments[2]);
    case ExprKind::kMul:
      return is_minimum(node);
    default:
      return false;
    }
  }

 private:
  bool is_named(const Rational& number) const {
    return number == Rational{0, 1} || number == Rational{1, 1} ||
           std::ranges::find(named_, number) != named_.end();
  }

  /// −max(−a, −b, …) of choices.
  bool is_minimum(const ExprNode& node) const {
    const ExprNode* largest = negated(node);
    return largest != nullptr && largest->kind == ExprKind::kMax &&
           std::ranges::all_of(largest->alternatives, [&](const Alternative& each) {
             const Rational& number = each.body->number;
             if (each.body->kind == ExprKind::kNumber)
               return is_named({-number.numerator, number.denominator});
             const ExprNode* choice = negated(*each.body);
             return choice != nullptr && chooses(*choice);
           });
  }

  std::vector<Rational> named_;
};

}  // namespace

bool only_chooses(const Semantics& semantics, const core::Attributes& attributes) {
  const Choice choice(attributes);
  return std::ranges::all_of(semantics.stages,
                             [&](const Stage& stage) { return choice.chooses(*stage.body); });
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
