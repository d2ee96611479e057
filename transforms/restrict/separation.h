// A product of which each part is read alone is a product for each part: what was put together goes
// apart again where operators behind the parts are better off beside their own product.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `parts_of_matmul`.
inline constexpr std::string_view kSeparationPrefix = "parts_of_";

/// A plan for each node that divides what products with constants compute, with operators between
/// them or not, where something is done to each element of a part. Complexity: an analysis for each
/// part of these operators.
std::vector<RewriteSequence> find_separation(const core::Graph& graph);
inline constexpr Transform kSeparation{"separation",
                                       "a product whose parts go apart becomes several",
                                       find_separation,
                                       {kSeparationPrefix}};

}  // namespace soapstone::transforms
