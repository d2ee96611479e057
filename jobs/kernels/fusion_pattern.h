// A pattern of operators that run as one kernel, as a list of numbers: for each node, the last one
// first, what it is, whether others may read it, and its operands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::jobs {

using PatternCode = std::vector<std::uint64_t>;

/// Says of a node that others may read its results although it is inside a kernel.
using IsExported = std::function<bool(core::NodeId)>;

/// What the node is, besides its sizes: the first number of patterns that end with it.
std::uint64_t kind_of(const core::Graph& graph, core::NodeId id);

struct EncodedKernel {
  PatternCode code;
  /// A hash of operators, attributes, types and small constants, but of no weights: equal for
  /// kernels that do the same work.
  std::uint64_t signature = 0;
  bool has_all = false;  ///< Whether all nodes lead to the last one.
};
/// `is_exported` may be empty: none is.
EncodedKernel encode_kernel_nodes(const core::Graph& graph, std::span<const core::NodeId> nodes,
                                  const IsExported& is_exported);

/// The nodes of the pattern that ends with `last`, none of them `taken` (by node).
/// Precondition: is_pattern(code).
std::optional<std::vector<core::NodeId>> match_pattern(const core::Graph& graph,
                                                       std::span<const std::uint64_t> code,
                                                       const std::vector<bool>& taken,
                                                       core::NodeId last);

/// False for numbers that are no pattern of at least two nodes.
bool is_pattern(std::span<const std::uint64_t> code);

}  // namespace soapstone::jobs
