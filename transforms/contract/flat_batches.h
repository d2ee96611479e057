// Batches of products of one tensor along one dimension each, so that they are seen to be parts of
// a larger batch.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `flat_batch_of_matmul`.
inline constexpr std::string_view kFlatBatchPrefix = "flat_batch_of_";

/// A plan for each matrix that several batches of weights of one size multiply, by itself no gain.
/// Complexity: linear in the graph.
std::vector<RewriteSequence> find_flat_batches(const core::Graph& graph);
inline constexpr Transform kFlatBatches{
    "flat_batches",
    "batches of weights that one matrix multiplies become one matrix",
    find_flat_batches,
    {kFlatBatchPrefix}};

}  // namespace soapstone::transforms
