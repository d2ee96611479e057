// Joins of what is computed from some parts of a tensor with parts that pass as they are, as in
// couplings of flows and rotations of some features: all of the tensor takes the same way, with
// neutral elements where a part passes.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/pack/blocks.h"

namespace soapstone::transforms {

/// One step for each join of all parts of a split, of which one is computed and of which the others
/// pass. `concat(a, b * exp(h W))` of the parts of x is `x * exp(h [0 W])`. The names of its rules
/// begin with kBlocksPrefix. At most 200 tensors are looked at
/// for a join.
std::vector<RewriteSequence> find_passing_parts(const core::Graph& graph);
inline constexpr Transform kPassingParts{
    "passing_parts",
    "parts of a split that merely pass are computed with the others",
    find_passing_parts,
    {kBlocksPrefix}};

}  // namespace soapstone::transforms
