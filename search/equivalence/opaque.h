// Tells which parts of a graph with opaque nodes can be checked.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "ops/definition/registry.h"

namespace soapstone::search {

/// By node: whether it is opaque, or reads, however indirectly, what an opaque node computes.
/// Without a runtime that has the operator nobody can say what such a node gets to see.
inline std::vector<bool> depends_on_opaque(const core::Graph& graph) {
  std::vector<bool> depends(graph.node_bound());
  for (const core::NodeId id : graph.order()) {
    bool found = ops::is_opaque(graph.node(id));
    for (const core::TensorId input : graph.node(id).inputs) {
      if (found || !input.valid()) continue;
      const core::NodeId producer = graph.tensor(input).producer;
      found = producer.valid() && depends[producer.index()];
    }
    depends[id.index()] = found;
  }
  return depends;
}

}  // namespace soapstone::search
