// Joins of what is computed from pieces of a tensor, element by element, each in the same way:
// polynomial features, products or differences of pairs of features. The pieces side by side are a
// product with a matrix of zeros and ones.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/pack/blocks.h"

namespace soapstone::transforms {

/// A plan of one step for each join along the last axis, of at most 200 operands, that has two such
/// operands or more, one behind another; each matrix has at most 2^18 elements, and functions are
/// at most four deep. As everywhere where a piece becomes a product, what is infinite or no number
/// in one feature is no number in all of them. The names of its rules begin with kBlocksPrefix.
std::vector<RewriteSequence> find_rows_of_cuts(const core::Graph& graph);
inline constexpr Transform kRowsOfCuts{"rows_of_cuts",
                                       "functions of pieces of one row become one product",
                                       find_rows_of_cuts,
                                       {kBlocksPrefix}};

}  // namespace soapstone::transforms
