// A table that is cut along the rows that indices select: rows of other parts count as 0. Indices
// are shifted to the part's rows, and those of other parts are sent elsewhere.
#pragma once

#include <optional>
#include <vector>

#include "ops/partition/digit_space.h"
#include "ops/restriction/part_graph.h"

namespace soapstone::ops::partition {

/// How an operator selects: Σ over v of [chosen = v]·….
struct Selection {
  std::size_t input;       ///< The indices.
  const ExprNode* chosen;  ///< The row as an expression over the indices.
  /// By dimension of the indices, the dimension of the result that it is; none: elements of several
  /// indices are summed up.
  std::optional<std::vector<std::size_t>> result_dims;
};

/// The selection along the digits of a loop; none: there is none, or one that is not understood.
std::optional<Selection> selection_of(const DigitSpace& space, const std::vector<Symbol>& loop);

/// Graphs of the expressions, for indices in a tensor.
struct ShiftedRows {
  core::TensorId row;        ///< The row less `rows.low`, an integer.
  core::TensorId is_inside;  ///< Whether it is one of `rows`.
};
/// `ignored`: indices that select nothing.
ShiftedRows shifted_rows(PartGraph& graph, const DigitSpace& space, const Selection& selection,
                         core::TensorId indices, Interval rows,
                         const std::vector<std::int64_t>& ignored);

}  // namespace soapstone::ops::partition
