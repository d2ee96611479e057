// Takes pieces of tensors apart and puts them together, with ordinary operators.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "parallel/pieces/index_set.h"

namespace soapstone::parallel {

/// The elements of `tensor` in `piece`, which is relative to it: slices, also of turns where the
/// intervals of a dimension repeat, or a gather where they do not.
core::TensorId take_piece(core::GraphBuilder& builder, core::TensorId tensor,
                          const TensorPiece& piece);

/// One tensor out of those in the cells of a grid. `parts` are the parts of each dimension, which
/// may interleave; `cells` is row-major in their numbers. Its elements ascend along each dimension.
core::TensorId join_pieces(core::GraphBuilder& builder,
                           const std::vector<std::vector<IndexSet>>& parts,
                           std::vector<core::TensorId> cells);

/// The sum of tensors of one type, from the first to the last. Precondition: there is one.
core::TensorId sum_in_order(core::GraphBuilder& builder, const std::vector<core::TensorId>& terms);

}  // namespace soapstone::parallel
