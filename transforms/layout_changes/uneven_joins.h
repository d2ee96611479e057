// Joins of tensors of unlike sizes to which the same is done, as a detector does to maps of several
// scales: they are joined first, and it is done once.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `uneven_join_of_sigmoid`.
inline constexpr std::string_view kUnevenPrefix = "uneven_join_of_";

/// A plan for each join behind elementwise operators, with what reshapes, splits, cuts and joins
/// along other dimensions between them. Dimensions of the joined tensors may lie apart there which
/// the join has as one. Complexity: nodes behind each join times nodes of the graph.
std::vector<RewriteSequence> find_uneven_joins(const core::Graph& graph);
inline constexpr Transform kUnevenConcats{
    "uneven_concats",
    "tensors of unlike sizes are joined before the same is done to each",
    find_uneven_joins,
    {kUnevenPrefix}};

}  // namespace soapstone::transforms
