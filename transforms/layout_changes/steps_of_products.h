// Functions of elements behind a reshaped contraction, taken before the reshape: there they are
// steps of the contraction's launch.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/layout_changes/moves.h"

namespace soapstone::transforms {

/// A plan for each reshape of what a contraction computes, or of steps behind one: a step for each
/// node behind it that does the same to each element. Other operands are reshaped likewise. Their
/// rules have the prefix of moves. Complexity: for each reshape, linear in the nodes moved.
std::vector<RewriteSequence> find_steps_of_products(const core::Graph& graph);
inline constexpr Transform kReshapesBehindProducts{
    "reshapes_behind_products",
    "a reshape is taken past what is done to a product",
    find_steps_of_products,
    {kMovesPrefix}};

/// Likewise, and constants are repeated as the shape needs it. That hides from other finders that a
/// constant is small, so it is for the end.
std::vector<RewriteSequence> find_steps_with_repeated_constants(const core::Graph& graph);
inline constexpr Transform kReshapesWithRepeatedConstants{
    "reshapes_with_repeated_constants",
    "likewise, where constants are repeated for it",
    find_steps_with_repeated_constants,
    {kMovesPrefix}};

}  // namespace soapstone::transforms
