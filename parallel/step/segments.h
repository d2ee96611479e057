// Cuts a model in order where little crosses from what comes before to what comes behind: between
// layers and blocks. Pipelines are cut there, and there tensors are kept where everything else is
// computed again.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace soapstone::parallel {

/// Behind each node, whether less crosses than behind the next, and no more than behind the one
/// before. `crossing`: bytes, behind each node.
std::vector<bool> narrow_places(const std::vector<double>& crossing);

/// Those of the narrow places that end a block: where segments between narrow places repeat with a
/// period, as the attention and the feed-forward part of a layer do, a block is a period of them.
std::vector<bool> block_ends(const core::Graph& graph, const std::vector<core::NodeId>& order,
                             const std::vector<bool>& narrow);

}  // namespace soapstone::parallel
