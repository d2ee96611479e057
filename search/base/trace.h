// Events of a search, reported while it runs. All calls come from one thread and, but for times,
// are the same for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::search {

struct RegionResult;
struct SimplifyReport;
struct Step;

/// The graph is covered with regions, and those that are new are about to be searched.
struct TracePass {
  std::uint64_t number = 0;     ///< Counts from 1.
  std::size_t region_size = 0;  ///< Most operators in a region.
  std::size_t regions = 0;
  std::size_t kinds = 0;      ///< Regions with different signatures.
  std::size_t new_kinds = 0;  ///< Kinds that were not searched before.
  double cost_us = 0;         ///< Cost of the graph that the pass starts from.
};

/// The search of one kind of region came to an end.
struct TraceRegion {
  std::uint64_t pass = 0;
  std::uint64_t signature = 0;  ///< Hash; equal for regions of a kind.
  const core::Graph* graph = nullptr;
  std::size_t places = 0;  ///< Regions of the kind in this pass.
  const RegionResult* found = nullptr;
  bool resumed = false;    ///< From a checkpoint, not searched.
  double duration_us = 0;  ///< Wall clock.
};

/// Rewrites that made the whole graph better, in their order.
struct TraceApplication {
  std::uint64_t pass = 0;
  const core::Graph* before = nullptr;  ///< The graph before the first of them.
  std::span<const Step> steps;
};

struct TraceBest {
  std::uint64_t graphs_expanded = 0;
  double cost_us = 0;
};

/// Pointers and spans are good during the call.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void simplified(const SimplifyReport& report, const core::Graph& baseline) = 0;
  virtual void pass(const TracePass& pass) = 0;
  virtual void region(const TraceRegion& region) = 0;
  virtual void applied(const TraceApplication& application) = 0;
  /// A graph that is cheaper than all before.
  virtual void best(const TraceBest& best) = 0;
};

}  // namespace soapstone::search
