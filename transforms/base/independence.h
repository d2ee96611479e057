// Whether nodes of a graph can stand side by side.
#pragma once

#include <set>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

class Independence {
 public:
  explicit Independence(const core::Graph& graph);
  /// Whether none of the nodes needs another's results, on any way through the graph. Complexity:
  /// nodes between the first of them and the last.
  bool holds(const std::set<core::NodeId>& nodes) const;

 private:
  const core::Graph& graph_;
  std::vector<std::size_t> place_;  ///< By node: its number in the order.
};

}  // namespace soapstone::transforms
