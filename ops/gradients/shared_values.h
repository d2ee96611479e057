// Values that a cotangent is multiplied by and that take loops to compute: each becomes a stage of
// the adjoint, so that it is computed once and not for every element that is read.
#pragma once

#include <map>
#include <vector>

#include "ops/gradients/place.h"

namespace soapstone::ops {

class SharedValues {
 public:
  /// Stages are added to `semantics`. Borrows both.
  SharedValues(Semantics& semantics, FreshVariables& fresh)
      : semantics_(semantics), fresh_(fresh) {}

  /// Begins with the body of a stage whose value is known.
  void begin(const Expr& body, Expr value);

  /// The value of an expression at a place: a read of a stage, if it takes loops to compute it.
  Expr at(const Expr& e, const Place& place);

 private:
  Semantics& semantics_;
  FreshVariables& fresh_;
  std::map<const ExprNode*, Expr> known_;  // by expression of the current body
  std::vector<Expr> kept_;                 // so that no two of them have the same address
};

/// Appends a stage. Returns its tensor number.
std::uint32_t add_stage(Semantics& semantics, Stage stage);

}  // namespace soapstone::ops
