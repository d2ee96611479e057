#include "parallel/work/origins.h"

#include <algorithm>
#include <map>

namespace soapstone::parallel {
namespace {

/// Where the digits of one tensor come from.
using TensorOrigins = std::map<std::int8_t, Origin>;

TensorOrigins origins_of_input(const core::TensorType& type) {
  TensorOrigins origins;
  const std::size_t rank = type.shape.size();
  if (rank >= 1) origins[0] = Origin::kBatch;
  const bool is_tokens = !core::is_floating(type.data_type) && rank >= 2;
  if (is_tokens || rank == 3) origins[1] = Origin::kSequence;
  return origins;
}

class OriginWalk {
 public:
  OriginWalk(const core::Graph& graph, GraphLoops& loops)
      : graph_(graph), loops_(loops), tensors_(graph.tensor_bound()) {}

  void start_at(core::TensorId input) {
    tensors_[input.index()] = origins_of_input(graph_.tensor(input).type);
  }

  void through(core::NodeId id) {
    const core::Node& node = graph_.node(id);
    for (const ops::Loop& loop : loops_.spaces[id.index()].loops) {
      Origin origin = Origin::kOther;
      for (const ops::LoopPlace& place : loop.follows)
        origin = std::max(origin, origin_at(node.inputs[place.tensor], place));
      loops_.origins[id.index()].push_back(origin);
      for (const ops::LoopPlace& place : loop.outputs)
        if (const auto digit = loops_.digits.number(place)) {
          Origin& known = tensors_[node.outputs[place.tensor].index()][*digit];
          known = std::max(known, origin);
        }
    }
  }

 private:
  Origin origin_at(core::TensorId id, const ops::LoopPlace& place) {
    const auto digit = loops_.digits.number(place);
    if (!id.valid() || !digit) return Origin::kOther;
    const auto found = tensors_[id.index()].find(*digit);
    return found == tensors_[id.index()].end() ? Origin::kOther : found->second;
  }

  const core::Graph& graph_;
  GraphLoops& loops_;
  std::vector<TensorOrigins> tensors_;
};

}  // namespace

std::optional<std::int8_t> Digits::find(const ops::LoopPlace& place) const {
  if (place.dim >= kMostDimensions) return std::nullopt;
  if (place.period == 0) return static_cast<std::int8_t>(place.dim);
  const Digit inner{place.dim, place.stride, place.period};
  const auto found = std::find(inner_.begin(), inner_.end(), inner);
  if (found == inner_.end()) return std::nullopt;
  return static_cast<std::int8_t>(kMostDimensions +
                                  static_cast<std::size_t>(found - inner_.begin()));
}

std::optional<std::int8_t> Digits::number(const ops::LoopPlace& place) {
  if (const auto known = find(place)) return known;
  if (place.dim >= kMostDimensions || kMostDimensions + inner_.size() >= kMost) return std::nullopt;
  inner_.push_back({place.dim, place.stride, place.period});
  return find(place);
}

Digits::Digit Digits::digit(std::int8_t number) const {
  const auto index = std::size_t{static_cast<std::uint8_t>(number)};
  if (index < kMostDimensions) return {index, 1, 0};
  return inner_[index - kMostDimensions];
}

GraphLoops graph_loops(const core::Graph& graph, const std::vector<bool>& is_weight) {
  GraphLoops result;
  result.spaces = ops::partition_spaces(graph, is_weight);
  result.origins.resize(graph.node_bound());
  OriginWalk walk(graph, result);
  for (const core::TensorId id : graph.inputs())
    if (!is_weight[id.index()]) walk.start_at(id);
  for (const core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id)) walk.through(id);
  return result;
}

}  // namespace soapstone::parallel
