// Only what is read is computed: pieces are cut out of operands instead of results, up to where all
// of a tensor is read.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `part_of_matmul`.
inline constexpr std::string_view kDemandPrefix = "part_of_";

/// A plan for each part of the graph of whose results only pieces are read. Complexity: linear in
/// the graph, and an analysis of each operator of such a part.
std::vector<RewriteSequence> find_demand(const core::Graph& graph);
inline constexpr Transform kSlices{
    "slices", "what no slice reads is not computed", find_demand, {kDemandPrefix}};

}  // namespace soapstone::transforms
