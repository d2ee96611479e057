// From which node to which the tensors of a model have to be there. A view of a tensor is that
// tensor.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace soapstone::parallel {

/// Positions in an order of nodes.
struct Lifetime {
  core::TensorId tensor;
  std::size_t first = 0;  ///< The node that makes it, or the first that reads an input.
  std::size_t last = 0;   ///< The last node that reads it or a view of it.
  bool is_input = false;
  bool is_result = false;  ///< The model returns it, or a view of it.
};

/// Finds them for results of the nodes, and for inputs of the graph that the nodes read and
/// `is_weight` does not name. Constants have none.
std::vector<Lifetime> lifetimes(const core::Graph& graph, const std::vector<core::NodeId>& order,
                                const std::vector<bool>& is_weight);

}  // namespace soapstone::parallel
