// The reads of a comprehension, each with what is in scope at it: what the analysis of digits and
// of regions goes through instead of the text.
#pragma once

#include <span>
#include <vector>

#include "core/graph/tensor_type.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops::partition {

/// One read of a tensor in the body of a stage.
struct Access {
  std::size_t stage = 0;  ///< Position in Semantics::stages.
  std::uint32_t tensor = 0;
  bool is_flat = false;
  std::vector<Polynomial> index;
  std::vector<Binder> binders;
  /// Constraints that only keep an index within the tensor that it reads: they tell padding from
  /// elements.
  std::vector<Constraint> bounds;
  /// All other constraints: they select some of the values that variables can have.
  std::vector<Constraint> selections;
};

/// In the order of stages. `dims`: the sizes of inputs, then of stages.
std::vector<Access> accesses_of(const Semantics& semantics, std::span<const core::Dims> dims);

/// Whether the constraint keeps an index of some read in `body` within the tensor.
bool is_bound(const Constraint& constraint, const ExprNode& body, std::span<const core::Dims> dims);

}  // namespace soapstone::ops::partition
