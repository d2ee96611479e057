// Numbers that tensors are multiplied by, taken back to the weights that these come from.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `factor_of_matmul`, by what is multiplied.
inline constexpr std::string_view kFactorPrefix = "factor_of_";

/// A plan for each factor that constants in front of it can take. Complexity: linear in the graph
/// for each factor.
std::vector<RewriteSequence> find_factors(const core::Graph& graph);
inline constexpr Transform kFactors{
    "factors", "constants in front take a factor", find_factors, {kFactorPrefix}};

}  // namespace soapstone::transforms
