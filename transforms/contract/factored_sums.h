// Sums of products that cost less when they are written out and what their terms share is taken out
// again: polynomials of a matrix by Horner's rule, sums of layers as one.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `factored_sum_of_add`.
inline constexpr std::string_view kFactoredPrefix = "factored_sum_of_";

/// A plan for each such sum, by the measure of OrderSearch. What others read is computed again.
/// Complexity: of each node, that of writing out up to 24 terms and of a few hundred orders of
/// products.
std::vector<RewriteSequence> find_factored_sums(const core::Graph& graph);
inline constexpr Transform kFactoredSums{"factored_sums",
                                         "sums of products with a common factor",
                                         find_factored_sums,
                                         {kFactoredPrefix}};

}  // namespace soapstone::transforms
