#include "transforms/base/independence.h"

#include <algorithm>

namespace soapstone::transforms {

using core::NodeId;

Independence::Independence(const core::Graph& graph) : graph_(graph), place_(graph.node_bound()) {
  for (std::size_t k = 0; k < graph.order().size(); ++k) place_[graph.order()[k].index()] = k;
}

bool Independence::holds(const std::set<NodeId>& nodes) const {
  std::size_t first = graph_.order().size();
  for (const NodeId id : nodes) first = std::min(first, place_[id.index()]);
  std::set<NodeId> seen;
  std::vector<NodeId> pending(nodes.begin(), nodes.end());
  while (!pending.empty()) {
    const core::Node& node = graph_.node(pending.back());
    pending.pop_back();
    for (const core::TensorId input : node.inputs) {
      if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
      const NodeId before = graph_.tensor(input).producer;
      if (nodes.contains(before)) return false;
      if (place_[before.index()] > first && seen.insert(before).second) pending.push_back(before);
    }
  }
  return true;
}

}  // namespace soapstone::transforms
