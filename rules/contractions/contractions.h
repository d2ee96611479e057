// Contractions of contractions: all that they multiply may be multiplied in any order, of which the
// cheapest is found.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// How the names of their rules begin: `contraction_of_matmul`.
inline constexpr std::string_view kContractionPrefix = "contraction_of_";

/// A plan for each product of three to eight tensors that another order makes cheaper. Complexity:
/// 3 to the power of the number of tensors, for each product.
std::vector<RewritePlan> find_contractions(const core::Graph& graph);

}  // namespace soapstone::rules
