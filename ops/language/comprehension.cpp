// Builds comprehensions. The functions fold what is plain at a glance (x + 0, 1·x, guards that
// always hold) and restructure nothing: a definition can be recognized in its expression.
#include "ops/language/comprehension.h"

#include <optional>

#include "core/base/check.h"
#include "ops/language/rational.h"

namespace soapstone::ops {
namespace {

Expr make(ExprNode node) { return std::make_shared<const ExprNode>(std::move(node)); }

bool is_number(const Expr& e, std::int64_t value) {
  return e->kind == ExprKind::kNumber && e->number == Rational{value, 1};
}

/// The constraints that are not plainly true; none if one is plainly false.
std::optional<std::vector<Constraint>> undecided(std::vector<Constraint> constraints) {
  std::vector<Constraint> rest;
  for (Constraint& c : constraints) {
    const auto value = c.expression.as_constant();
    if (!value) {
      rest.push_back(std::move(c));
    } else if (c.kind == Constraint::Kind::kZero ? *value != 0 : *value < 0) {
      return std::nullopt;
    }
  }
  return rest;
}

/// Sum or product of the arguments of `a` and `b`, nested ones of the same kind spliced in.
Expr flattened(ExprKind kind, const Expr& a, const Expr& b) {
  ExprNode node;
  node.kind = kind;
  for (const Expr& e : {a, b}) {
    if (e->kind == kind) {
      node.arguments.insert(node.arguments.end(), e->arguments.begin(), e->arguments.end());
    } else {
      node.arguments.push_back(e);
    }
  }
  return make(std::move(node));
}

}  // namespace

Constraint at_least(const Polynomial& a, const Polynomial& b) {
  return {Constraint::Kind::kNonNegative, a - b};
}
Constraint less(const Polynomial& a, const Polynomial& b) { return at_least(b, a + Polynomial(1)); }
Constraint equal(const Polynomial& a, const Polynomial& b) {
  return {Constraint::Kind::kZero, a - b};
}

Expr number(Rational value) {
  ExprNode node;
  node.kind = ExprKind::kNumber;
  node.number = value;
  return make(std::move(node));
}
Expr number(double value) { return number(to_rational(value)); }

Expr index_value(Polynomial value) {
  if (auto constant = value.as_constant()) return number(Rational{*constant, 1});
  ExprNode node;
  node.kind = ExprKind::kIndexValue;
  node.index = {std::move(value)};
  return make(std::move(node));
}

Expr read(std::uint32_t tensor, std::vector<Polynomial> index) {
  ExprNode node;
  node.kind = ExprKind::kRead;
  node.tensor = tensor;
  node.index = std::move(index);
  return make(std::move(node));
}

Expr read_flat(std::uint32_t tensor, Polynomial position) {
  ExprNode node;
  node.kind = ExprKind::kReadFlat;
  node.tensor = tensor;
  node.index = {std::move(position)};
  return make(std::move(node));
}

Expr operator+(Expr a, Expr b) {
  if (is_number(a, 0)) return b;
  if (is_number(b, 0)) return a;
  if (a->kind == ExprKind::kNumber && b->kind == ExprKind::kNumber)
    if (auto value = sum_of(a->number, b->number)) return number(*value);
  return flattened(ExprKind::kAdd, a, b);
}

Expr operator-(Expr a, Expr b) { return std::move(a) + number(Rational{-1, 1}) * std::move(b); }

Expr operator*(Expr a, Expr b) {
  if (is_number(a, 1)) return b;
  if (is_number(b, 1)) return a;
  if (a->kind == ExprKind::kNumber && b->kind == ExprKind::kNumber)
    if (auto value = product_of(a->number, b->number)) return number(*value);
  return flattened(ExprKind::kMul, a, b);
}

Expr inverse(Expr a) {
  if (a->kind == ExprKind::kNumber && a->number.numerator != 0 && a->number.denominator != 0) {
    const Rational r = a->number;
    const std::int64_t sign = r.numerator < 0 ? -1 : 1;
    return number(Rational{sign * r.denominator, sign * r.numerator});
  }
  ExprNode node;
  node.kind = ExprKind::kInverse;
  node.arguments = {std::move(a)};
  return make(std::move(node));
}

Expr apply(Function function, std::vector<Expr> arguments) {
  CHECK(arguments.size() == properties(function).arity, "wrong number of arguments");
  ExprNode node;
  node.kind = ExprKind::kApply;
  node.function = function;
  node.arguments = std::move(arguments);
  return make(std::move(node));
}

Expr guard(std::vector<Constraint> constraints, Expr body) {
  auto rest = undecided(std::move(constraints));
  if (!rest) return number(Rational{0, 1});
  if (rest->empty()) return body;
  ExprNode node;
  node.kind = ExprKind::kGuard;
  node.constraints = *std::move(rest);
  node.arguments = {std::move(body)};
  return make(std::move(node));
}

Expr sum(std::vector<Binder> binders, Expr body, std::vector<Constraint> constraints) {
  if (binders.empty()) return guard(std::move(constraints), std::move(body));
  auto rest = undecided(std::move(constraints));
  if (!rest) return number(Rational{0, 1});
  ExprNode node;
  node.kind = ExprKind::kSum;
  node.binders = std::move(binders);
  node.constraints = *std::move(rest);
  node.arguments = {std::move(body)};
  return make(std::move(node));
}

Expr maximum(std::vector<Alternative> alternatives) {
  std::vector<Alternative> possible;
  for (Alternative& a : alternatives) {
    auto rest = undecided(std::move(a.constraints));
    if (rest) possible.push_back({std::move(a.binders), *std::move(rest), std::move(a.body)});
  }
  CHECK(!possible.empty(), "the maximum of nothing has no value");
  if (possible.size() == 1 && possible[0].binders.empty() && possible[0].constraints.empty())
    return possible[0].body;
  ExprNode node;
  node.kind = ExprKind::kMax;
  node.alternatives = std::move(possible);
  return make(std::move(node));
}

Expr maximum(Expr a, Expr b) { return maximum({{{}, {}, std::move(a)}, {{}, {}, std::move(b)}}); }

Expr minimum(Expr a, Expr b) {
  const Expr minus_one = number(Rational{-1, 1});
  return minus_one * maximum(minus_one * std::move(a), minus_one * std::move(b));
}

}  // namespace soapstone::ops
