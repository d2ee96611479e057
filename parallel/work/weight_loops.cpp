#include "parallel/work/weight_loops.h"

#include <algorithm>

namespace soapstone::parallel {

WeightLoops::WeightLoops(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
                         const StepWork& work)
    : graph_(graph), node_(graph.node(node)), own_(work.nodes[node.index()]), work_(work),
      loops_(loops.spaces[node.index()].loops), origins_(loops.origins[node.index()]) {}

bool WeightLoops::has_weight() const {
  return std::ranges::any_of(node_.inputs, [&](core::TensorId id) { return is_weight(id); });
}

bool WeightLoops::is_weight(core::TensorId id) const {
  if (!id.valid()) return false;
  if (work_.tensors[id.index()].is_weight) return true;
  const core::NodeId producer = graph_.tensor(id).producer;
  if (!producer.valid() || graph_.is_constant_expression(producer)) return false;
  const std::vector<core::TensorId>& inputs = graph_.node(producer).inputs;
  return work_.nodes[producer.index()].is_free && inputs.size() == 1 && is_weight(inputs[0]);
}

bool WeightLoops::follows_weight(const ops::Loop& loop) const {
  return std::ranges::any_of(loop.follows, [&](const auto& place) { return is_weight(place); });
}

bool WeightLoops::follows_data(const ops::Loop& loop) const {
  return std::ranges::any_of(loop.follows, [&](const auto& place) { return !is_weight(place); });
}

bool WeightLoops::is_over_experts(std::size_t loop) const {
  return loops_[loop].is_index() && follows_weight(loops_[loop]) && follows_data(loops_[loop]);
}

bool WeightLoops::is_over_outputs(std::size_t loop) const {
  return loops_[loop].is_index() && follows_weight(loops_[loop]) && !follows_data(loops_[loop]);
}

std::int64_t WeightLoops::experts() const {
  if (!own_.is_contraction) return 0;
  for (std::size_t l = 0; l < loops_.size(); ++l)
    if (is_over_experts(l)) return loops_[l].size;
  return 0;
}

bool WeightLoops::has_positions() const {
  for (std::size_t l = 0; l < loops_.size(); ++l)
    if (loops_[l].is_index() && origins_[l] != Origin::kBatch && !follows_weight(loops_[l]) &&
        follows_data(loops_[l]))
      return true;
  return false;
}

bool WeightLoops::meets_once() const {
  return own_.is_contraction && has_weight() && !has_positions();
}

bool WeightLoops::meets_often() const {
  return own_.is_contraction && has_weight() && has_positions();
}

}  // namespace soapstone::parallel
