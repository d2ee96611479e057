// Nothing is computed twice: what is done to each element, row or matrix of a tensor that repeats a
// smaller one is done to the smaller one, and repeated behind that.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `repeated_matmul`.
inline constexpr std::string_view kRepetitionPrefix = "repeated_";

/// A plan for each part of the graph that repetitions connect. Complexity: linear in the graph.
std::vector<RewriteSequence> find_repetition(const core::Graph& graph);
inline constexpr Transform kRepetition{
    "repetition", "what is repeated is computed once", find_repetition, {kRepetitionPrefix}};

}  // namespace soapstone::transforms
