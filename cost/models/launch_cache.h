// Costs of launches by their hash: what makes pricing a rewritten graph cheap, since nearly all of
// its launches were priced before.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::cost {

struct Priced {
  LaunchCost cost;
  std::string implementation;
};

/// Safe from several threads.
class LaunchCache {
 public:
  /// One cost a key, in order; they live as long as the cache. `price(i)` is called, one call at a
  /// time, for what is not known; equal keys are priced once. The lock for reading is taken once,
  /// however many keys there are.
  std::vector<const Priced*> find_or_price(std::span<const std::uint64_t> keys,
                                           const std::function<Priced(std::size_t)>& price);

 private:
  std::shared_mutex map_mutex_;
  std::mutex price_mutex_;
  std::unordered_map<std::uint64_t, Priced> known_;
};

GraphCost sum(std::span<const Priced* const> launches);

/// The operators of a launch, for people: `conv + add + relu [1, 64, 56, 56]  name_of_head`.
std::string describe(const core::Graph& graph, const runtime::Launch& launch);

}  // namespace soapstone::cost
