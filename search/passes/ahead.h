// Regions that will be searched later, searched by threads that have nothing else to do. What is
// found is the same; only who waits for it changes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "search/passes/way.h"
#include "search/regions/region.h"
#include "search/regions/region_search.h"

namespace soapstone::search {

/// Thread-safe.
class Ahead {
 public:
  using Search = std::function<RegionResult(const Region&, const Way&)>;
  explicit Ahead(Search search) : search_(std::move(search)) {}

  /// Regions that will be asked for in this way, first to last. `regions` is called by whoever has
  /// time.
  void expect(std::function<std::vector<Region>()> regions, const Way& way);
  /// Searches a region. False: there is none left.
  bool work();
  /// What was found; waits for who is searching it. None: nobody is, and nobody will, so that the
  /// caller has to.
  std::optional<RegionResult> take(const Region& region, const Way& way);
  bool is_under_way(const Region& region, const Way& way) const;

 private:
  using Key = std::pair<Way, std::vector<std::uint64_t>>;  // with the signature
  struct Item {
    Region region;
    enum class State { kWaiting, kUnderWay, kDone } state = State::kWaiting;
    std::optional<RegionResult> result;  ///< None: it failed.
  };
  struct Source {
    std::function<std::vector<Region>()> regions;
    Way way;
  };
  void add(std::vector<Region> regions, const Way& way);

  Search search_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Source> sources_;
  std::map<Key, Item> items_;
  std::deque<Key> waiting_;  ///< Some of which may have been taken meanwhile.
};

}  // namespace soapstone::search
