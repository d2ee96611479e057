// See place.h.
#include "ops/gradients/place.h"

namespace soapstone::ops {

Place inside(Place place, const std::vector<Binder>& binders,
             const std::vector<Constraint>& constraints) {
  auto& [own_binders, own_constraints] = place.domain;
  own_binders.insert(own_binders.end(), binders.begin(), binders.end());
  own_constraints.insert(own_constraints.end(), constraints.begin(), constraints.end());
  return place;
}

Expr product_at(const Place& place) {
  Expr result = place.factors.front();
  for (std::size_t k = 1; k < place.factors.size(); ++k)
    result = std::move(result) * place.factors[k];
  for (const Expr& condition : place.selected_if)
    result = apply(Function::kSelect, {condition, std::move(result), number(Rational{0, 1})});
  return result;
}

std::vector<Polynomial> indices(const std::vector<Symbol>& symbols) {
  return {symbols.begin(), symbols.end()};
}

Expr fresh_sum(const std::vector<Binder>& binders, const Expr& body,
               const std::vector<Constraint>& constraints, Substitution values,
               FreshVariables& fresh) {
  std::vector<Binder> renamed;
  Substitution names;
  for (const Binder& b : binders) {
    renamed.push_back({fresh(), substituted(b.low, names), substituted(b.high, names)});
    names.insert_or_assign(b.variable, Polynomial(renamed.back().variable));
  }
  for (auto& [variable, value] : values) value = substituted(value, names);
  values.insert(names.begin(), names.end());
  return sum(std::move(renamed), copy_of(body, values, fresh), substituted(constraints, values));
}

}  // namespace soapstone::ops
