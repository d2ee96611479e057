// Groups of scores, softmax and context that one launch of a library can compute.
#pragma once

#include <functional>
#include <vector>

#include "runtime/generated/grouping.h"

namespace soapstone::gpu {

/// Says whether a library computes a launch as one.
using LaunchFit = std::function<bool(const core::Graph&, const runtime::Launch&)>;

/// Joins the groups of a product, of its softmax and of the product with that into one group,
/// wherever they are attention (forms/attention.h) and `fits` admits it. What the group of the
/// softmax computes besides stays where it was; transposes that only attention reads are read
/// through.
std::vector<runtime::generated::Group> join_attention(const core::Graph& graph,
                                                      std::vector<runtime::generated::Group> groups,
                                                      const LaunchFit& fits);

}  // namespace soapstone::gpu
