// Copies of expressions under other names: index variables replaced by expressions, bound variables
// by fresh ones, so that every copy may stand in the same Semantics.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// What stands for an index variable.
using Substitution = std::map<Symbol, Polynomial>;

/// Hands out index variables that do not occur in a given Semantics.
class FreshVariables {
 public:
  explicit FreshVariables(const Semantics& semantics);
  Symbol operator()() { return Symbol::index(next_++); }

 private:
  std::uint32_t next_ = 0;
};

Polynomial substituted(const Polynomial& value, const Substitution& by);
std::vector<Constraint> substituted(std::vector<Constraint> constraints, const Substitution& by);

/// A copy of the expression with fresh bound variables and, for the free ones, what `by` says.
Expr copy_of(const Expr& expression, Substitution by, FreshVariables& fresh);

/// A copy whose reads go to other tensors: to `tensors[t]` instead of t.
Expr with_tensors(const Expr& expression, const std::vector<std::uint32_t>& tensors);

/// The index variables that occur and that no binder inside binds.
std::set<Symbol> free_variables(const Expr& expression);

/// The tensors that the expression reads.
std::set<std::uint32_t> tensors_read(const Expr& expression);
bool reads_any(const Expr& expression, const std::set<std::uint32_t>& tensors);

}  // namespace soapstone::ops
