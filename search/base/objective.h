// The objective of a search: how whole graphs compare, and which cost the search of one region
// follows. Peak memory is no sum over regions, so regions only propose, along costs that lead to
// fast ones, to small ones, and to fast ones that are no larger; the plan of the whole graph
// decides (docs/adr/0017).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "runtime/memory/memory_use.h"
#include "search/base/weight_growth.h"

namespace soapstone::search {

enum class ObjectiveKind : std::uint8_t {
  kLatency,             ///< The lowest latency, whatever memory it takes.
  kMemory,              ///< The lowest peak of activation memory; of equal ones, the fastest.
  kLatencyUnderMemory,  ///< The lowest latency with a peak of at most the limit.
};
/// "latency", "memory", "latency-under-memory"
std::string_view to_string(ObjectiveKind kind);
std::optional<ObjectiveKind> parse_objective(std::string_view text);

/// The latency and memory of a graph. `peak_bytes` is runtime::MemoryUse::peak_bytes: activations,
/// without weights and inputs; zeros where the objective does not ask for memory.
struct Score {
  double latency_us = 0;
  std::size_t peak_bytes = 0, live_bytes = 0, peak_steps = 0, weight_bytes = 0;
  bool is_too_large = false;  ///< Its weights have grown beyond the limit.
};

/// The cost that the search of a region follows to make its proposals. A region does not know how
/// much of the whole graph's peak lies in it, so several bounds on its own peak are tried.
enum class Guide : std::uint8_t {
  kLatency,          ///< Latency alone.
  kLatencyWithin,    ///< Latency; the region's own peak is at most what the whole graph may need.
  kLatencyAtSlack,   ///< Latency; its peak grows by no more than the whole graph's may.
  kLatencyNoLarger,  ///< Latency; its peak does not grow.
  kMemory,           ///< The region's peak, then its latency.
  kLatencyAtGrowth,  ///< Latency; its weights grow by no more than the whole graph's may.
  kLatencyNoGrowth,  ///< Latency; its weights do not grow.
};

constexpr bool is_for_growth(Guide guide) {
  return guide == Guide::kLatencyAtGrowth || guide == Guide::kLatencyNoGrowth;
}

/// One stretch of a search: what counts as better, and which guides propose.
struct ObjectiveStage {
  std::vector<Guide> guides = {Guide::kLatency};
  /// True: a lower peak is better, whatever the latency. False: a lower latency, within `cap`.
  bool lower_peak = false;
  std::size_t cap_bytes = ~std::size_t{0};
  std::size_t slack_bytes = 0;  ///< From the peak at its beginning to the cap.
  /// A peak that is low enough for the next stage to begin.
  std::size_t enough_bytes = 0;
  /// Weights may grow beyond the original's only by what the peak gives back: nobody saves memory
  /// by turning activations into more weights. The limits are the original's weights, and its
  /// weights and peak together.
  std::size_t weight_bytes = ~std::size_t{0}, total_bytes = ~std::size_t{0};
};

class Objective {
 public:
  /// Latency alone.
  explicit Objective(cost::CostModel& cost) : cost_(cost) {}
  /// `backend` plans what is run; `limit_bytes` is for kLatencyUnderMemory. Both must outlive it.
  Objective(ObjectiveKind kind, std::size_t limit_bytes, cost::CostModel& cost,
            const runtime::Backend& backend, runtime::Fusion fusion)
      : kind_(kind), limit_bytes_(limit_bytes), cost_(cost), backend_(&backend), fusion_(fusion) {}

  /// Graphs with larger weights are no gain, whatever their latency and peak.
  void limit_weights(WeightLimit limit) { weight_limit_ = std::move(limit); }
  const WeightLimit& weight_limit() const { return weight_limit_; }

  ObjectiveKind kind() const { return kind_; }
  std::size_t limit_bytes() const { return limit_bytes_; }
  bool needs_memory() const { return kind_ != ObjectiveKind::kLatency; }

  ObjectiveStage first_stage(const core::Graph& original) const;
  /// None: that was the last one.
  std::optional<ObjectiveStage> next_stage(const ObjectiveStage& stage, const Score& reached) const;

  /// A graph in the order in which it is to be run at this stage: its own, unless another one needs
  /// less memory and that is asked for.
  struct Settled {
    core::Graph graph;
    Score score;
  };
  Settled settle(const core::Graph& graph, const ObjectiveStage& stage) const;
  /// The same score without the graph.
  Score score(const core::Graph& graph, const ObjectiveStage& stage) const;
  /// By more than rounding.
  bool is_gain(const Score& before, const Score& after, const ObjectiveStage& stage) const;
  /// Whether score() may find a graph that a few rewrites have made of `from` to be a gain over
  /// `best`. False takes less time than the score of a large graph. Notes a graph whose weights are
  /// too large, as score() does.
  bool may_be_gain(const core::Graph& from, const Score& of_from, const core::Graph& graph,
                   const Score& best) const;
  /// Whether `a` is preferred to `b` as the final result.
  bool is_better(const Score& a, const Score& b) const;

  /// The cost that the search of `region` follows. Null: the cost model itself.
  std::unique_ptr<cost::CostModel> guide(Guide guide, const core::Graph& region,
                                         const ObjectiveStage& stage) const;

 private:
  bool is_allowed(const Score& score, const ObjectiveStage& stage) const;
  bool fits(const Score& score) const { return score.peak_bytes <= limit_bytes_; }

  ObjectiveKind kind_ = ObjectiveKind::kLatency;
  std::size_t limit_bytes_ = 0;
  cost::CostModel& cost_;
  const runtime::Backend* backend_ = nullptr;
  runtime::Fusion fusion_ = runtime::Fusion::kFull;
  WeightLimit weight_limit_;
};

}  // namespace soapstone::search
