// The rules of differentiation, one for each kind of expression.
#include "ops/gradients/readings.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "ops/gradients/derivatives.h"

namespace soapstone::ops {

void BodyWalk::visit(const Expr& e, Place place) {
  if (!reads_any(e, sensitive_)) return;
  switch (e->kind) {
  case ExprKind::kNumber:
  case ExprKind::kIndexValue:
    return;
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    readings_[e->tensor].push_back({std::move(place), e});
    return;
  case ExprKind::kAdd:
    for (const Expr& term : e->arguments) visit(term, place);
    return;
  case ExprKind::kMul:
    return visit_product(*e, place);
  case ExprKind::kInverse: {
    const Expr reciprocal = values_.at(e, place);
    multiply(place, number(-1.0) * (reciprocal * reciprocal));
    return visit(e->arguments[0], std::move(place));
  }
  case ExprKind::kApply:
    return visit_function(*e, place);
  case ExprKind::kGuard:
  case ExprKind::kSum:
    return visit(e->arguments[0], inside(place, e->binders, e->constraints));
  case ExprKind::kMax:
    return visit_maximum(e, place);
  }
  CHECK(false, "unreachable");
}

void BodyWalk::multiply(Place& place, const Expr& factor) {
  place.factors.push_back(values_.at(factor, place));
}

void BodyWalk::visit_product(const ExprNode& e, const Place& place) {
  for (std::size_t k = 0; k < e.arguments.size(); ++k) {
    if (!reads_any(e.arguments[k], sensitive_)) continue;
    Place factor = place;
    for (std::size_t other = 0; other < e.arguments.size(); ++other)
      if (other != k) multiply(factor, e.arguments[other]);
    visit(e.arguments[k], std::move(factor));
  }
}

void BodyWalk::visit_function(const ExprNode& e, const Place& place) {
  if (e.function == Function::kSelect) return visit_selection(e.arguments, place);
  for (std::size_t k = 0; k < e.arguments.size(); ++k) {
    if (!reads_any(e.arguments[k], sensitive_)) continue;
    const Expr slope = derivative(e.function, e.arguments, k);
    if (!slope) continue;
    Place argument = place;
    multiply(argument, slope);
    visit(e.arguments[k], std::move(argument));
  }
}

/// Of condition, value, other value.
void BodyWalk::visit_selection(const std::vector<Expr>& arguments, const Place& place) {
  const Expr condition = values_.at(arguments[0], place);
  Place value = place, other = place;
  value.selected_if.push_back(condition);
  other.selected_if.push_back(apply(Function::kIsZero, {condition}));
  visit(arguments[1], std::move(value));
  visit(arguments[2], std::move(other));
}

void BodyWalk::visit_maximum(const Expr& e, const Place& place) {
  const auto& alternatives = e->alternatives;
  const auto is_plain = [](const Alternative& a) {
    return a.binders.empty() && a.constraints.empty();
  };
  if (alternatives.size() == 2 && std::ranges::all_of(alternatives, is_plain))
    return visit_larger_of_two(alternatives[0].body, alternatives[1].body, place);
  const Expr largest = values_.at(e, place);
  const Expr share = values_.at(inverse(count_of_ties(*e, largest)), place);
  for (const Alternative& a : alternatives) {
    Place element = inside(place, a.binders, a.constraints);
    element.factors.push_back(share);
    element.factors.push_back(apply(Function::kEqual, {a.body, largest}));
    visit(a.body, std::move(element));
  }
}

/// Without a count: the larger gets all, and each half if they are equal.
void BodyWalk::visit_larger_of_two(const Expr& a, const Expr& b, const Place& place) {
  const Expr half = number(Rational{1, 2});
  for (const auto& [own, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!reads_any(own, sensitive_)) continue;
    Place element = place;
    const Expr x = values_.at(own, place), y = values_.at(other, place);
    element.factors.push_back(apply(Function::kLess, {y, x}) +
                              half * apply(Function::kEqual, {x, y}));
    visit(own, std::move(element));
  }
}

/// How many elements equal the maximum.
Expr BodyWalk::count_of_ties(const ExprNode& maximum, const Expr& largest) {
  Expr count = number(Rational{0, 1});
  for (const Alternative& a : maximum.alternatives)
    count = std::move(count) + fresh_sum(a.binders, apply(Function::kEqual, {a.body, largest}),
                                         a.constraints, {}, fresh_);
  return count;
}

}  // namespace soapstone::ops
