// Walks through the body of a stage and notes where it reads what, and how the result depends on
// it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "ops/gradients/place.h"
#include "ops/gradients/shared_values.h"

namespace soapstone::ops {

/// Places of reading, by tensor.
using Readings = std::map<std::uint32_t, std::vector<Reading>>;

class BodyWalk {
 public:
  /// Only reads of `sensitive` tensors are noted. Borrows all.
  BodyWalk(const std::set<std::uint32_t>& sensitive, SharedValues& values, FreshVariables& fresh,
           Readings& readings)
      : sensitive_(sensitive), values_(values), fresh_(fresh), readings_(readings) {}

  void visit(const Expr& e, Place place);

 private:
  void multiply(Place& place, const Expr& factor);
  void visit_product(const ExprNode& e, const Place& place);
  void visit_function(const ExprNode& e, const Place& place);
  void visit_selection(const std::vector<Expr>& arguments, const Place& place);
  void visit_maximum(const Expr& e, const Place& place);
  void visit_larger_of_two(const Expr& a, const Expr& b, const Place& place);
  Expr count_of_ties(const ExprNode& maximum, const Expr& largest);

  const std::set<std::uint32_t>& sensitive_;
  SharedValues& values_;
  FreshVariables& fresh_;
  Readings& readings_;
};

}  // namespace soapstone::ops
