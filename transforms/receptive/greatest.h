// Convolutions of one image with windows of unlike lengths, of each of which the greatest result is
// taken, as networks for sentences have them: one convolution, in which what the shorter windows
// have no place for is 0.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

/// A plan for each image with such convolutions. Complexity: linear in the graph.
std::vector<RewriteSequence> find_greatest_windows(const core::Graph& graph);

}  // namespace soapstone::transforms
