// Looks all keys up under one shared lock, then prices the few that are new.
#include "cost/models/launch_cache.h"

#include <fmt/format.h>

namespace soapstone::cost {

std::vector<const Priced*>
LaunchCache::find_or_price(std::span<const std::uint64_t> keys,
                           const std::function<Priced(std::size_t)>& price) {
  std::vector<const Priced*> found(keys.size());
  std::vector<std::size_t> unknown;
  const auto look_up = [this](std::uint64_t key) {
    const auto at = known_.find(key);
    return at == known_.end() ? nullptr : &at->second;
  };
  {
    const std::shared_lock lock(map_mutex_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      found[i] = look_up(keys[i]);
      if (!found[i]) unknown.push_back(i);
    }
  }
  for (const std::size_t i : unknown) {
    // Held while pricing, not while storing: readers go on while a launch is timed, and what two
    // threads want at once is priced by one of them.
    const std::lock_guard pricing(price_mutex_);
    found[i] = look_up(keys[i]);  // without map_mutex_: only a holder of price_mutex_ writes
    if (found[i]) continue;
    Priced priced = price(i);
    const std::unique_lock lock(map_mutex_);
    found[i] = &known_.emplace(keys[i], std::move(priced)).first->second;
  }
  return found;
}

GraphCost sum(std::span<const Priced* const> launches) {
  GraphCost total;
  for (const Priced* launch : launches) {
    total.total_us += launch->cost.cost_us;
    if (launch->cost.estimated) total.estimated_us += launch->cost.cost_us;
  }
  total.launches = launches.size();
  return total;
}

std::string describe(const core::Graph& graph, const runtime::Launch& launch) {
  std::string text = graph.node(launch.head).op->name;
  for (const core::NodeId node : launch.nodes()) {
    if (node != launch.head) text += " + " + graph.node(node).op->name;
  }
  if (!launch.outputs.empty()) {
    const core::TensorType& type = graph.tensor(launch.outputs.front()).type;
    if (type.shape_known) text += " " + core::to_string(type.shape, graph.symbols());
  }
  const std::string& name = graph.node(launch.head).name;
  return name.empty() ? text : fmt::format("{}  {}", text, name);
}

}  // namespace soapstone::cost
