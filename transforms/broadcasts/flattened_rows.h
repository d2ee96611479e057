// What is done to each row of a reshaped tensor is done to the rows of the tensor itself, so that
// it is seen that the tensor repeats rows of a smaller one, or chooses them from it.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `rows_of_matmul`.
inline constexpr std::string_view kRowsPrefix = "rows_of_";

/// A plan for each reshape of rows that are repeated or chosen, by itself no gain. Complexity:
/// linear in the graph.
std::vector<RewriteSequence> find_flattened_rows(const core::Graph& graph);
inline constexpr Transform kFlattenedRows{"flattened_rows",
                                          "rows that are repeated or chosen keep their dimensions",
                                          find_flattened_rows,
                                          {kRowsPrefix}};

}  // namespace soapstone::transforms
