// A product of which an operand repeats a smaller tensor and puts the repetitions together with
// another dimension, as keys and values of grouped heads do, reads the smaller tensor itself.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `shared_by_einsum`.
inline constexpr std::string_view kSharedPrefix = "shared_by_";

/// A plan for each such product of two. Complexity: linear in the graph.
std::vector<RewriteSequence> find_shared_operands(const core::Graph& graph);
inline constexpr Transform kSharedOperands{"shared_operands",
                                           "products with one operand in common become one",
                                           find_shared_operands,
                                           {kSharedPrefix}};

}  // namespace soapstone::transforms
