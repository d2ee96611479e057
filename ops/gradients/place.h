// Places in the body of a stage, as the adjoint meets them on its way from the stage's cotangent to
// what is read.
#pragma once

#include <vector>

#include "ops/gradients/elimination.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// A place in the body of a stage, and what the cotangent of the stage is multiplied by on the way
/// to it. The first factor is the stage's cotangent at its index.
struct Place {
  IndexDomain domain;  ///< The index of the stage, and all binders around the place.
  std::vector<Expr> factors;
  /// Values that are 0 where the place is not selected. The product is then not looked at, as the
  /// value that was not selected is not: it may be none.
  std::vector<Expr> selected_if;
};

/// A place where a tensor is read.
struct Reading {
  Place place;
  Expr read;
};

/// The place behind binders and constraints.
Place inside(Place place, const std::vector<Binder>& binders,
             const std::vector<Constraint>& constraints);

/// What the place adds to the cotangent of what is read there, for one value of its variables.
Expr product_at(const Place& place);

std::vector<Polynomial> indices(const std::vector<Symbol>& symbols);

/// A sum with fresh binders, of a body in which `values` stand for variables.
Expr fresh_sum(const std::vector<Binder>& binders, const Expr& body,
               const std::vector<Constraint>& constraints, Substitution values,
               FreshVariables& fresh);

}  // namespace soapstone::ops
