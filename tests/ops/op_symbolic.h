// Operators on symbolic sizes in tests: shapes with their sizes replaced by symbols, and meanings
// with numbers put back in their place.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ops/definition/infer_context.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops::test {

/// Values of symbols.
using Assignment = std::map<core::Symbol, std::int64_t>;

inline Polynomial substitute(const Polynomial& p, const Assignment& values) {
  return p.substitute([&](core::Symbol s) -> std::optional<Polynomial> {
    const auto found = values.find(s);
    if (found == values.end()) return std::nullopt;
    return Polynomial(found->second);
  });
}

inline void substitute(std::vector<Polynomial>& list, const Assignment& values) {
  for (Polynomial& p : list) p = substitute(p, values);
}

inline void substitute(std::vector<Constraint>& constraints, const Assignment& values) {
  for (Constraint& c : constraints) c.expression = substitute(c.expression, values);
}

inline void substitute(std::vector<Binder>& binders, const Assignment& values) {
  for (Binder& b : binders) b.low = substitute(b.low, values), b.high = substitute(b.high, values);
}

inline Expr substitute(const Expr& e, const Assignment& values) {
  auto copy = std::make_shared<ExprNode>(*e);
  substitute(copy->index, values);
  substitute(copy->constraints, values);
  substitute(copy->binders, values);
  for (Alternative& a : copy->alternatives) {
    substitute(a.binders, values);
    substitute(a.constraints, values);
    a.body = substitute(a.body, values);
  }
  for (Expr& argument : copy->arguments) argument = substitute(argument, values);
  return copy;
}

inline Semantics substitute(Semantics semantics, const Assignment& values) {
  for (Stage& stage : semantics.stages) {
    substitute(stage.shape, values);
    stage.body = substitute(stage.body, values);
  }
  for (Requirement& requirement : semantics.requirements) {
    substitute(requirement.shape, values);
    requirement.value = substitute(requirement.value, values);
    requirement.low = substitute(requirement.low, values);
    requirement.high = substitute(requirement.high, values);
  }
  return semantics;
}

/// Gives the derived sizes their values, in order.
inline void assign(const std::vector<DerivedSize>& derived, Assignment& values) {
  for (const DerivedSize& d : derived) {
    const std::int64_t n = substitute(d.numerator, values).constant();
    const std::int64_t floor = n / d.divisor - (n % d.divisor < 0 ? 1 : 0);
    values[d.symbol] =
        d.kind == DerivedSize::Kind::kFloorDiv ? floor : std::max<std::int64_t>(n, 0);
  }
}

inline bool holds(const SizeConstraint& c, const Assignment& values) {
  const auto value = substitute(c.expression, values).as_constant();
  return value && (c.kind == SizeConstraint::Kind::kZero ? *value == 0 : *value >= 0);
}

}  // namespace soapstone::ops::test
