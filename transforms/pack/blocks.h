// Towers side by side: parts of a graph that do the same to different tensors, of whatever widths,
// are one wide tower, in which what is summed has weights in blocks.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `blocks_of_matmul`.
inline constexpr std::string_view kBlocksPrefix = "blocks_of_";

/// Those that end in a join along the axis, the last ones of the graph first, and then those that
/// end apart: the steps of each are a plan. Complexity: nodes of all towers times nodes of the
/// graph.
std::vector<RewriteSequence> find_blocks(const core::Graph& graph);
inline constexpr Transform kBlockDiagonals{"block_diagonals",
                                           "operators side by side become one wide operator",
                                           find_blocks,
                                           {kBlocksPrefix}};

}  // namespace soapstone::transforms
