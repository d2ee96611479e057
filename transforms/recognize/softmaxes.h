// Softmax, its logarithm, and logarithms of sums of exponentials, however they are written out.
#pragma once

#include <set>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

/// A plan for each; their nodes are put into the set.
std::vector<RewriteSequence> find_softmaxes(const core::Graph& graph,
                                            std::set<core::NodeId>& taken);

}  // namespace soapstone::transforms
