// From a comprehension to standard operators: a meaning that no kernel and no file format knows by
// name becomes slices, gathers, einsums and elementwise operators that compute the same. What is
// read at an index becomes a tensor with a dimension for each variable of the index, a sum of
// products an einsum, a condition on indices a constant mask, and an equation between indices a
// constant table of its solutions.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "ops/language/comprehension.h"
#include "ops/lowering/shared_nodes.h"

namespace soapstone::ops {

/// Appends what computes the outputs of the meaning from `inputs`, none() where one is not read.
/// `outputs` are their types; all sizes are numbers. What a requirement asks of data is not
/// checked. The elements are those of the comprehension but for rounding; where one that is masked
/// or multiplied by 0 is no finite number, they may be none either.
/// Errors: kUnsupported if a size is 0, or a table or a tensor between would be too large.
core::Result<std::vector<core::TensorId>> lower(SharedNodes& nodes, const Semantics& semantics,
                                                std::span<const core::TensorId> inputs,
                                                std::span<const core::TensorType> outputs);

/// The same for a node of the graph that `nodes` appends to. Preconditions: it is not opaque, and
/// its shapes are known.
core::Result<std::vector<core::TensorId>> lower(SharedNodes& nodes, const core::Node& node);

}  // namespace soapstone::ops
