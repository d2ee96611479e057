// Constants that are added between products: behind the last of what is linear, so that the
// products stand behind each other and may be taken in another order.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `offset_behind_matmul`.
inline constexpr std::string_view kOffsetPrefix = "offset_behind_";

/// A plan for each constant that is added, or is the bias of a convolution, where only nodes that
/// are linear in the sum follow, with a product among them. No gain by themselves: the constant may
/// become larger. Complexity: linear in the graph.
std::vector<RewriteSequence> find_offsets(const core::Graph& graph);
inline constexpr Transform kOffsets{
    "offsets", "what is added is taken past linear operators", find_offsets, {kOffsetPrefix}};

}  // namespace soapstone::transforms
