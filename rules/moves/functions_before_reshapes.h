// Functions of single elements behind a reshape of a product's result: done before it, they are
// part of the product's kernel.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// A plan for each reshape of what a product, or a convolution, computes: a step for each node
/// behind it that does the same to each element but for constants, which are repeated as the shape
/// needs it, and for tensors of its shape, which are reshaped likewise. The names of its rules
/// begin with kMovesPrefix. Complexity: linear in the nodes moved.
std::vector<RewritePlan> find_functions_before_reshapes(const core::Graph& graph);

}  // namespace soapstone::rules
