// See cut_sums.h.
#include "parallel/running/cut_sums.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

bool cuts_a_sum(core::NodeId id, const GraphLoops& loops, const PlannedCuts& cuts) {
  for (std::size_t a = 0; a < cuts.mesh.axis_count(); ++a) {
    const std::int8_t number = cuts.loops[id.index()][a];
    if (number < 0 || cuts.mesh.axis_size(a) == 1) continue;
    const ops::Loop& loop = loops.spaces[id.index()].loops[static_cast<std::size_t>(number)];
    if (std::ranges::find(loop.joined, ops::Joined::kSum) != loop.joined.end()) return true;
    for (const ops::StageJoin& stage : loop.between)
      if (stage.joined == ops::Joined::kSum) return true;
  }
  return false;
}

}  // namespace

std::vector<bool> behind_cut_sums(const core::Graph& graph, const GraphLoops& loops,
                                  const PlannedCuts& cuts) {
  std::vector<bool> behind(graph.tensor_bound());
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    const core::Node& node = graph.node(id);
    bool is_behind = cuts_a_sum(id, loops, cuts);
    for (const core::TensorId input : node.inputs)
      is_behind |= input.valid() && behind[input.index()];
    for (const core::TensorId output : node.outputs) behind[output.index()] = is_behind;
  }
  return behind;
}

}  // namespace soapstone::parallel
