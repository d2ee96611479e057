// Towers: parts of a graph that do the same to different tensors, side by side, up to where they
// are joined or added, or part. Bottom-up, as superword-level parallelism packs instructions
// (Larsen and Amarasinghe 2000).
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How many towers may stand side by side.
inline constexpr std::size_t kMostTowers = 64;

/// How the names of their rules begin: `batch_of_matmul`.
inline constexpr std::string_view kBatchingPrefix = "batch_of_";

/// Those that end in a join or a sum, the last ones of the graph first, and then those that end
/// apart: the steps of a pack are a plan. A node may stand in several packs. Complexity: nodes of
/// all packs times nodes of the graph.
std::vector<RewriteSequence> find_towers(const core::Graph& graph);
inline constexpr Transform kSiblingBatches{"sibling_batches",
                                           "operators side by side become one with a batch more",
                                           find_towers,
                                           {kBatchingPrefix}};

}  // namespace soapstone::transforms
