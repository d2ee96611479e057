// Sums and means of what is linear are taken of what it is computed from, so that less of it is
// computed.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// How the names of their rules begin: `reduced_matmul`.
inline constexpr std::string_view kAveragesPrefix = "reduced_";

/// A plan for each part of the graph, with a product in it, whose results are only summed.
/// Complexity: linear in the graph.
std::vector<RewritePlan> find_averages(const core::Graph& graph);

}  // namespace soapstone::rules
