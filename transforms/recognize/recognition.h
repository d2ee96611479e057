// Parts of a graph that compute what an operator of its own does, however they are written out:
// functions of one tensor are known by their values, norms by the statistics that they are made
// of. What is guessed here is proved like every other rule.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `named_layer_norm`.
inline constexpr std::string_view kNamedPrefix = "named_";

/// A plan for each such part: norms, then softmaxes, then functions of one tensor; what is in a
/// part is in no later one. Complexity: tensors times the nodes of a part.
std::vector<RewriteSequence> find_named_functions(const core::Graph& graph);
inline constexpr Transform kNamedFunctions{
    "named_functions",
    "what is written out becomes the operator that computes it",
    find_named_functions,
    {kNamedPrefix}};

}  // namespace soapstone::transforms
