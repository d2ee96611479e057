// See ahead.h.
#include "search/passes/ahead.h"

#include <exception>

namespace soapstone::search {

void Ahead::expect(std::function<std::vector<Region>()> regions, const Way& way) {
  const std::lock_guard lock(mutex_);
  sources_.push_back({std::move(regions), way});
}

void Ahead::add(std::vector<Region> regions, const Way& way) {
  for (Region& region : regions) {
    Key key{way, region.signature};
    const auto [at, is_new] = items_.try_emplace(key);
    if (!is_new) continue;
    at->second.region = std::move(region);
    waiting_.push_back(std::move(key));
  }
}

bool Ahead::work() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    const Key key = std::move(waiting_.front());
    waiting_.pop_front();
    const auto found = items_.find(key);
    if (found == items_.end()) continue;
    Item& item = found->second;  // stays where it is as long as it is under way
    item.state = Item::State::kUnderWay;
    lock.unlock();
    std::optional<RegionResult> result;
    try {
      result = search_(item.region, key.first);
    } catch (const std::exception&) {
      // Whoever needs it tries again, and meets what stands in the way.
    }
    lock.lock();
    item.result = std::move(result);
    item.state = Item::State::kDone;
    changed_.notify_all();
    return true;
  }
  if (sources_.empty()) return false;
  const Source source = std::move(sources_.front());
  sources_.pop_front();
  lock.unlock();
  std::vector<Region> regions;
  try {
    regions = source.regions();
  } catch (const std::exception&) {
    // There is nothing ahead then.
  }
  lock.lock();
  add(std::move(regions), source.way);
  return true;
}

std::optional<RegionResult> Ahead::take(const Region& region, const Way& way) {
  std::unique_lock lock(mutex_);
  const auto at = items_.find({way, region.signature});
  if (at == items_.end()) return std::nullopt;
  Item& item = at->second;
  changed_.wait(lock, [&] { return item.state != Item::State::kUnderWay; });
  std::optional<RegionResult> result = std::move(item.result);
  // Regions with one signature may have other weights.
  const bool is_same = result && result->stop != RegionStop::kStopped &&
                       same_structure(item.region.graph, region.graph);
  items_.erase(at);
  if (!is_same) result.reset();
  return result;
}

bool Ahead::is_under_way(const Region& region, const Way& way) const {
  const std::lock_guard lock(mutex_);
  const auto at = items_.find({way, region.signature});
  return at != items_.end() && at->second.state == Item::State::kUnderWay;
}

}  // namespace soapstone::search
