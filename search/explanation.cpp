// See explanation.h. Replays the steps, since only then it is known what each of them makes.
#include "search/explanation.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// Groups steps into places: steps that touch a common node belong together.
class Places {
 public:
  Places(std::size_t steps, std::size_t original_nodes)
      : parent_(steps), original_nodes_(original_nodes) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  void add(std::size_t step, const Graph& before, const Graph& after, const rules::Match& match) {
    for (const NodeId id : match.nodes)
      if (is_made(id) || !before.is_constant_expression(id)) touch(id, step);
    for (std::size_t k = before.node_bound(); k < after.node_bound(); ++k) touch(NodeId(k), step);
  }

  /// The first step of the place that the step belongs to.
  std::size_t of_step(std::size_t step) {
    while (parent_[step] != step) step = parent_[step] = parent_[parent_[step]];
    return step;
  }
  const std::map<NodeId, std::size_t>& touched() const { return step_of_; }
  bool is_made(NodeId id) const { return id.index() >= original_nodes_; }

 private:
  void touch(NodeId id, std::size_t step) {
    const auto [known, is_new] = step_of_.emplace(id, step);
    if (is_new) return;
    const std::size_t a = of_step(known->second), b = of_step(step);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  std::vector<std::size_t> parent_;
  std::size_t original_nodes_;
  std::map<NodeId, std::size_t> step_of_;  ///< The first one that touched it.
};

/// The tensor that the readers of a rewrite's result read instead. None: no reader is left.
TensorId successor(const Graph& before, const Graph& after, TensorId result) {
  const auto outputs = before.outputs();
  if (const auto at = std::ranges::find(outputs, result); at != outputs.end())
    return after.outputs()[static_cast<std::size_t>(at - outputs.begin())];
  for (const NodeId reader : before.consumers(result)) {
    if (!after.contains(reader)) continue;
    const auto& inputs = before.node(reader).inputs;
    const auto at = std::ranges::find(inputs, result) - inputs.begin();
    return after.node(reader).inputs[static_cast<std::size_t>(at)];
  }
  return TensorId::none();
}

/// The given nodes that the graph still has, in its order.
std::vector<NodeId> in_order(const Graph& graph, const std::set<NodeId>& nodes,
                             const std::vector<std::size_t>& position) {
  std::vector<NodeId> result;
  for (const NodeId id : nodes)
    if (graph.contains(id)) result.push_back(id);
  std::ranges::sort(result, {}, [&](NodeId id) { return position[id.index()]; });
  return result;
}

std::vector<std::size_t> positions(const Graph& graph) {
  std::vector<std::size_t> position(graph.node_bound());
  std::size_t next = 0;
  for (const NodeId id : graph.order()) position[id.index()] = next++;
  return position;
}

}  // namespace

ChangedPlaces find_changed_places(const Graph& before, const rules::RuleSet& rules,
                                  const std::vector<Step>& steps) {
  ChangedPlaces result{before, {}, {}};
  Places places(steps.size(), before.node_bound());
  std::size_t number = 0;
  for_each_graph(before, rules, steps, [&](const Step& step, const Graph& graph) {
    places.add(number++, result.after, graph, step.match);
    for (const TensorId old : step.match.outputs) {
      const TensorId now = successor(result.after, graph, old);
      if (!now.valid() || now.index() < before.tensor_bound()) continue;
      const auto known = result.stands_for.find(old);
      result.stands_for[now] = known == result.stands_for.end() ? old : known->second;
    }
    result.after = graph;
    return true;
  });
  std::map<std::size_t, ChangedPlace> by_first;
  std::map<std::size_t, std::set<NodeId>> nodes;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t first = places.of_step(k);
    by_first[first].steps.push_back(k);
    by_first[first].gain_us += steps[k].gain_us;
    // Constants that were matched are shown where they were, though they join nothing.
    nodes[first].insert(steps[k].match.nodes.begin(), steps[k].match.nodes.end());
  }
  for (const auto& [id, step] : places.touched()) nodes[places.of_step(step)].insert(id);
  const auto position_before = positions(before), position_after = positions(result.after);
  for (auto& [first, place] : by_first) {
    std::set<NodeId> old = nodes[first];
    std::erase_if(old, [&](NodeId id) { return places.is_made(id); });
    place.before = in_order(before, old, position_before);
    place.after = in_order(result.after, nodes[first], position_after);
    result.places.push_back(std::move(place));
  }
  std::ranges::stable_sort(result.places, {}, [&](const ChangedPlace& place) {
    return position_before[place.before.front().index()];
  });
  return result;
}

}  // namespace soapstone::search
