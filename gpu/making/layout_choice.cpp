// See layout_choice.h. Launches are nodes of a cut: near is row-major, far has channels last. A
// tensor is converted once if any of its readers is on the other side than its producer.
#include "gpu/making/layout_choice.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gpu/making/layouts.h"
#include "gpu/making/min_cut.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::gpu {
namespace {

using core::TensorId;
using runtime::Launch;
using runtime::LaunchLayouts;
using runtime::Layout;

constexpr double kUnitsOfMicrosecond = 1000;

class LayoutArranger {
 public:
  LayoutArranger(const core::Graph& graph, std::span<const Launch> launches,
                 const LayoutCosts& costs)
      : graph_(graph), launches_(launches), costs_(costs) {}

  /// Empty: something is not known.
  std::vector<LaunchLayouts> run() {
    for (const Launch& launch : launches_) {
      add(launch);
      stored_.insert(launch.outputs.begin(), launch.outputs.end());
    }
    for (std::size_t k = 0; k < launches_.size(); ++k) note_tensors(k);
    for (const TensorId output : graph_.outputs()) readers_[source_of(output)].rows = true;
    for (const auto& [tensor, readers] : readers_) add_conversions(tensor, readers);
    if (!is_known_) return {};
    const std::vector<bool> is_far = cut_.divide();
    std::vector<LaunchLayouts> chosen;
    for (std::size_t k = 0; k < launches_.size(); ++k)
      chosen.push_back(ways_[k][nodes_[k] != MinCut::kNear && is_far[nodes_[k]] ? 1 : 0]);
    return chosen;
  }

 private:
  /// Who reads a tensor of a launch.
  struct Readers {
    bool rows = false;               ///< Somebody who reads it row-major in any case.
    std::vector<std::size_t> nodes;  ///< Launches that read it as they lie themselves.
  };

  void add(const Launch& launch) {
    ways_.push_back(layout_ways(graph_, launch));
    nodes_.push_back(MinCut::kNear);
    if (ways_.back().size() < 2) return;
    const std::size_t node = nodes_.back() = cut_.add_node();
    cut_.add_cost(node, MinCut::kFar, cost_of(signature(launch, 0)));
    cut_.add_cost(MinCut::kNear, node, cost_of(signature(launch, 1)));
  }

  std::string signature(const Launch& launch, std::size_t way) const {
    return runtime::launch_signature(graph_, launch, ways_.back()[way]);
  }

  std::int64_t cost_of(const std::string& signature) {
    const auto cost_us = costs_.find(signature);
    is_known_ &= cost_us.has_value();
    return std::llround(cost_us.value_or(0) * kUnitsOfMicrosecond);
  }

  void note_tensors(std::size_t k) {
    const Launch& launch = launches_[k];
    const bool has_ways = nodes_[k] != MinCut::kNear;
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
      const TensorId tensor = launch.inputs[i];
      if (graph_.is_constant_expression(tensor)) continue;
      if (has_ways && ways_[k][1].inputs[i] == Layout::kChannelsLast)
        readers_[tensor].nodes.push_back(nodes_[k]);
      else
        readers_[tensor].rows = true;
      if (source_of(tensor) != tensor) readers_[source_of(tensor)].rows = true;
    }
    for (std::size_t i = 0; i < launch.outputs.size(); ++i)
      if (has_ways && ways_[k][1].outputs[i] == Layout::kChannelsLast)
        producer_[launch.outputs[i]] = nodes_[k];
  }

  /// The tensor of which a launch's input is a view, or itself: views are of row-major tensors.
  TensorId source_of(TensorId tensor) const {
    while (!stored_.contains(tensor)) {
      const core::NodeId producer = graph_.tensor(tensor).producer;
      if (!producer.valid() || graph_.node(producer).inputs.empty()) break;
      tensor = graph_.node(producer).inputs[0];
    }
    return tensor;
  }

  /// What no launch leaves with channels last is row-major: also views, and inputs of the graph.
  void add_conversions(TensorId tensor, const Readers& readers) {
    const auto found = producer_.find(tensor);
    const std::size_t producer = found == producer_.end() ? MinCut::kNear : found->second;
    if (producer == MinCut::kNear && readers.nodes.empty()) return;
    const core::TensorType& type = graph_.tensor(tensor).type;
    const auto converted = [&](Layout from, Layout to) {
      return cost_of(runtime::conversion_signature(type, from, to));
    };
    if (!readers.nodes.empty()) {
      const std::size_t to_last = cut_.add_node();
      cut_.add_cost(producer, to_last, converted(Layout::kRowMajor, Layout::kChannelsLast));
      for (const std::size_t node : readers.nodes) cut_.add_cost(to_last, node, MinCut::kNever);
    }
    if (producer == MinCut::kNear) return;
    const std::size_t to_rows = cut_.add_node();
    cut_.add_cost(to_rows, producer, converted(Layout::kChannelsLast, Layout::kRowMajor));
    if (readers.rows) cut_.add_cost(MinCut::kNear, to_rows, MinCut::kNever);
    for (const std::size_t node : readers.nodes) cut_.add_cost(node, to_rows, MinCut::kNever);
  }

  const core::Graph& graph_;
  std::span<const Launch> launches_;
  const LayoutCosts& costs_;
  MinCut cut_;
  std::vector<std::vector<LaunchLayouts>> ways_;  // parallel to the launches, as is the next
  std::vector<std::size_t> nodes_;                // of the cut; near: there is only one way
  std::set<TensorId> stored_;                     // by launches
  std::map<TensorId, Readers> readers_;
  std::map<TensorId, std::size_t> producer_;  // a node of the cut
  bool is_known_ = true;
};

}  // namespace

void LayoutCosts::note(const std::string& signature, double cost_us) {
  const std::lock_guard lock(mutex_);
  by_signature_[signature] = cost_us;
}

std::optional<double> LayoutCosts::find(const std::string& signature) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_signature_.find(signature);
  return found == by_signature_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<LaunchLayouts> layout_ways(const core::Graph& graph, const Launch& launch) {
  LaunchLayouts rows;
  rows.inputs.assign(launch.inputs.size(), Layout::kRowMajor);
  rows.outputs.assign(launch.outputs.size(), Layout::kRowMajor);
  LaunchLayouts last = rows;
  // As if all images came with channels last.
  std::vector<Layout> stored;
  for (const TensorId input : launch.inputs)
    stored.push_back(graph.is_constant_expression(input)
                         ? Layout::kRowMajor
                         : canonical(graph.tensor(input).type, Layout::kChannelsLast));
  choose_layouts(graph, launch, stored, ImageLayout::kChannelsLast, last);
  const auto settle = [&](std::vector<Layout>& layouts, const std::vector<TensorId>& tensors) {
    for (std::size_t k = 0; k < tensors.size(); ++k)
      layouts[k] = canonical(graph.tensor(tensors[k]).type, layouts[k]);
    return std::ranges::find(layouts, Layout::kChannelsLast) != layouts.end();
  };
  const bool reads = settle(last.inputs, launch.inputs);
  const bool leaves = settle(last.outputs, launch.outputs);
  if (!reads && !leaves) return {std::move(rows)};
  return {std::move(rows), std::move(last)};
}

std::vector<LaunchLayouts> arrange_by_cost(const core::Graph& graph,
                                           std::span<const Launch> launches,
                                           const LayoutCosts& costs) {
  return LayoutArranger(graph, launches, costs).run();
}

}  // namespace soapstone::gpu
