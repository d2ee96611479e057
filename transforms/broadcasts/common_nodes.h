// Nodes that compute the same of the same tensors are one.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `common_concat`.
inline constexpr std::string_view kCommonPrefix = "common_";

/// A plan for each node that stands there more than once; those that read it are equal once it is
/// carried out. What is only done to constants is no gain, but what reads them is seen to read the
/// same. Complexity: linear in the graph.
std::vector<RewriteSequence> find_common_nodes(const core::Graph& graph);
inline constexpr Transform kCommonNodes{
    "common_nodes", "nodes that compute the same become one", find_common_nodes, {kCommonPrefix}};

}  // namespace soapstone::transforms
