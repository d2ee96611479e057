// Orders the nodes of a graph so that running it takes less memory. The graph stays the same but
// for ids and order: nothing has to be proved.
#pragma once

#include <span>

#include "core/graph/graph.h"
#include "runtime/launches/backend.h"
#include "runtime/memory/memory_use.h"
#include "runtime/memory/schedule.h"

namespace soapstone::runtime {

/// The same graph with its nodes in that order, with ids that ascend in it. Whoever builds, writes
/// or reads it keeps the order.
/// Precondition: `order` has the nodes of graph.order(), producers first.
core::Graph with_order(const core::Graph& graph, std::span<const core::NodeId> order);

struct OrderedGraph {
  core::Graph graph;  ///< The given one where no better order was found.
  MemoryUse use;
};
/// Searches an order of execution with a low peak of activation memory, by the real plan: which
/// operators fuse may depend on the order. Deterministic.
/// Complexity: near linear in the graph.
OrderedGraph order_for_memory(const core::Graph& graph, const Backend& backend, Fusion fusion,
                              std::size_t max_states = kMostStates);

}  // namespace soapstone::runtime
