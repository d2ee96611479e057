// Cuts a model in order where little crosses from what comes before to what comes behind: between
// layers and blocks. Pipelines are cut there, and there tensors are kept where everything else is
// computed again.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

/// Behind each node, whether fewer bytes cross, nothing being cut, than behind the next, and than
/// behind the last one before it behind which another number did. `order`: the nodes that run.
std::vector<bool> narrow_places(const core::Graph& graph, const std::vector<core::NodeId>& order,
                                const StepWork& work);

/// By tensor: whether it crosses a narrow place.
std::vector<bool> crossing_narrowly(const core::Graph& graph,
                                    const std::vector<core::NodeId>& order, const StepWork& work);

/// Those of the narrow places that end a block: where segments between narrow places repeat with a
/// period, as the attention and the feed-forward part of a layer do, a block is a period of them.
std::vector<bool> block_ends(const core::Graph& graph, const std::vector<core::NodeId>& order,
                             const std::vector<bool>& narrow);

}  // namespace soapstone::parallel
