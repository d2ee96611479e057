// Products with inverses, written as quotients.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `quotient_of_mul`.
inline constexpr std::string_view kQuotientPrefix = "quotient_of_";

/// A plan for each inverse of which all readers are products, maybe behind views and of larger
/// tensors: what it is the inverse of divides in each. Sizes must be known. Complexity: linear in
/// the graph.
std::vector<RewriteSequence> find_quotients(const core::Graph& graph);
inline constexpr Transform kQuotients{
    "quotients", "a product with an inverse becomes a division", find_quotients, {kQuotientPrefix}};

}  // namespace soapstone::transforms
