// Zeros around a tensor that is moved afterwards are zeros around the moved one, where convolutions
// take them for padding of theirs.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/layout_changes/moves.h"

namespace soapstone::transforms {

/// Whether the node puts zeros around a tensor of known sizes, none between its elements, and cuts
/// nothing off.
bool is_frame_of_zeros(const core::Graph& graph, const core::Node& node);

/// A plan for each such pad in front of convolutions. Complexity: linear in the graph.
std::vector<RewriteSequence> find_moved_pads(const core::Graph& graph);
inline constexpr Transform kMovedPads{"moved_pads",
                                      "a pad is taken past what stands in front of a convolution",
                                      find_moved_pads,
                                      {kMovesPrefix}};

}  // namespace soapstone::transforms
