// See phases.h.
#include "parallel/training/phases.h"

#include <algorithm>

namespace soapstone::parallel {

std::vector<core::TensorId> kept_results(const core::Graph& graph,
                                         const std::vector<Phase>& phases) {
  const auto is_of_forward = [&](core::NodeId id) { return is_forward(phases[id.index()]); };
  std::vector<core::TensorId> kept;
  for (const core::NodeId id : graph.order()) {
    if (!is_of_forward(id)) continue;
    for (const core::TensorId t : graph.node(id).outputs)
      if (!std::ranges::all_of(graph.consumers(t), is_of_forward)) kept.push_back(t);
  }
  return kept;
}

}  // namespace soapstone::parallel
