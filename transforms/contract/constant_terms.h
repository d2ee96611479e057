// Constants among the terms of a sum, or among the factors of a product.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `constants_of_add`.
inline constexpr std::string_view kConstantsPrefix = "constants_of_";

/// A plan for each sum, of terms that are added and subtracted, and for each product with several
/// constants: they stand at the end, and those that fit into larger ones are one with these. Small
/// ones stand first, where what computes the rest may take them: a bias of channels in front of a
/// map of noise. Alternatives are one constant, if it does not become too large, and constants
/// directly behind a product of matrices, in front of a residual. Sizes must be known. Complexity:
/// linear in the graph.
std::vector<RewriteSequence> find_constant_terms(const core::Graph& graph);
inline constexpr Transform kConstantTerms{"constant_terms",
                                          "constants of a sum or product stand together",
                                          find_constant_terms,
                                          {kConstantsPrefix}};

}  // namespace soapstone::transforms
