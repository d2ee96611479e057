// See objective.h.
#include "search/base/objective.h"

#include <algorithm>
#include <tuple>

#include "runtime/memory/memory_schedule.h"
#include "search/base/real_gain.h"

namespace soapstone::search {
namespace {

using core::Graph;

/// Sets of launches to look at for the order of a region: one for each of thousands of graphs.
constexpr std::size_t kRegionStates = 30;
/// The weight of latency in a region's cost when its peak of memory counts first: it decides
/// between equal peaks.
constexpr double kLatencyShare = 1e-3;
/// A graph above a bound on memory or weights costs at least this many times the region's original:
/// it is no gain, but may lead to one.
constexpr double kAboveBound = 1.1;

constexpr ObjectiveKind kKinds[] = {ObjectiveKind::kLatency, ObjectiveKind::kMemory,
                                    ObjectiveKind::kLatencyUnderMemory};

/// A region's cost in microseconds of its original, whatever it is made of.
class GuideCost final : public cost::CostModel {
 public:
  GuideCost(Guide guide, const Graph& region, const ObjectiveStage& stage, cost::CostModel& cost,
            const runtime::Backend& backend, runtime::Fusion fusion)
      : guide_(guide), cost_(cost), backend_(backend), fusion_(fusion),
        latency_us_(cost.graph_cost(region).total_us) {
    bound_bytes_ = peak(region);
    if (guide == Guide::kLatencyWithin)
      bound_bytes_ = std::max(bound_bytes_, static_cast<double>(stage.cap_bytes));
    if (guide == Guide::kLatencyAtSlack) bound_bytes_ += static_cast<double>(stage.slack_bytes);
  }

  cost::GraphCost graph_cost(const Graph& graph) override {
    cost::GraphCost cost = cost_.graph_cost(graph);
    const double ratio = peak(graph) / bound_bytes_;
    if (guide_ == Guide::kMemory) {
      cost.total_us = latency_us_ * ratio + kLatencyShare * cost.total_us;
    } else if (ratio > 1) {
      cost.total_us = std::max(cost.total_us, latency_us_) * kAboveBound * ratio;
    }
    return cost;
  }
  bool needs_quiet_machine() const override { return cost_.needs_quiet_machine(); }
  std::vector<Item> breakdown(const Graph& graph) override { return cost_.breakdown(graph); }
  std::string description() const override { return cost_.description(); }

 private:
  double peak(const Graph& graph) const {
    if (guide_ != Guide::kMemory && bound_bytes_ > 0) {
      const auto use = runtime::memory_use(graph, backend_, fusion_);
      const auto bytes = static_cast<double>(use.peak_bytes);
      if (bytes <= bound_bytes_) return bytes;  // no matter how far below
    }
    const auto ordered = runtime::order_for_memory(graph, backend_, fusion_, kRegionStates);
    return std::max(1.0, static_cast<double>(ordered.use.peak_bytes));
  }

  Guide guide_;
  cost::CostModel& cost_;
  const runtime::Backend& backend_;
  runtime::Fusion fusion_;
  double latency_us_, bound_bytes_ = 0;
};

/// The latency of a region, of which graphs with larger weights are no gain.
class GrowthCost final : public cost::CostModel {
 public:
  /// `most_bytes`: by how much the weights may be larger.
  GrowthCost(const Graph& region, std::size_t most_bytes, const WeightLimit& limit,
             cost::CostModel& cost)
      : limit_(limit), cost_(cost), latency_us_(cost.graph_cost(region).total_us),
        most_bytes_(limit.bytes_of_part(region) + most_bytes) {}

  cost::GraphCost graph_cost(const Graph& graph) override {
    cost::GraphCost cost = cost_.graph_cost(graph);
    if (limit_.bytes_of_part(graph) > most_bytes_)
      cost.total_us = std::max(cost.total_us, latency_us_) * kAboveBound;
    return cost;
  }
  bool needs_quiet_machine() const override { return cost_.needs_quiet_machine(); }
  std::vector<Item> breakdown(const Graph& graph) override { return cost_.breakdown(graph); }
  std::string description() const override { return cost_.description(); }

 private:
  const WeightLimit& limit_;
  cost::CostModel& cost_;
  double latency_us_;
  std::size_t most_bytes_;
};

}  // namespace

std::string_view to_string(ObjectiveKind kind) {
  switch (kind) {
  case ObjectiveKind::kLatency:
    return "latency";
  case ObjectiveKind::kMemory:
    return "memory";
  case ObjectiveKind::kLatencyUnderMemory:
    return "latency-under-memory";
  }
  return "";
}

std::optional<ObjectiveKind> parse_objective(std::string_view text) {
  for (const ObjectiveKind kind : kKinds)
    if (text == to_string(kind)) return kind;
  return std::nullopt;
}

ObjectiveStage Objective::first_stage(const Graph& original) const {
  if (kind_ == ObjectiveKind::kLatency) return {};
  const runtime::MemoryUse use = runtime::memory_use(original, *backend_, fusion_);
  ObjectiveStage smaller;
  smaller.guides = {Guide::kMemory};
  smaller.lower_peak = true;
  smaller.enough_bytes = limit_bytes_;
  smaller.weight_bytes = use.weight_bytes;
  smaller.total_bytes = use.weight_bytes + use.peak_bytes;
  if (kind_ == ObjectiveKind::kMemory) return smaller;
  const Score reached = score(original, smaller);
  return fits(reached) ? *next_stage(smaller, reached) : smaller;
}

std::optional<ObjectiveStage> Objective::next_stage(const ObjectiveStage& stage,
                                                    const Score& reached) const {
  if (!stage.lower_peak) return std::nullopt;
  ObjectiveStage faster = stage;
  faster.guides = {Guide::kLatency, Guide::kLatencyWithin, Guide::kLatencyNoLarger};
  faster.lower_peak = false;
  faster.cap_bytes = std::max(limit_bytes_, reached.peak_bytes);
  faster.slack_bytes = faster.cap_bytes - reached.peak_bytes;
  if (faster.slack_bytes > 0) faster.guides.insert(faster.guides.end() - 1, Guide::kLatencyAtSlack);
  return faster;
}

Objective::Settled Objective::settle(const Graph& graph, const ObjectiveStage& stage) const {
  Settled settled{graph, {}};
  if (needs_memory()) {
    runtime::MemoryUse use = runtime::memory_use(graph, *backend_, fusion_);
    const std::size_t wanted = stage.lower_peak ? stage.enough_bytes : stage.cap_bytes;
    if (use.peak_bytes > wanted) {
      auto ordered = runtime::order_for_memory(graph, *backend_, fusion_);
      settled.graph = std::move(ordered.graph);
      use = ordered.use;
    }
    settled.score = {0, use.peak_bytes, use.live_bytes, use.peak_steps, use.weight_bytes};
  }
  settled.score.latency_us = cost_.graph_cost(settled.graph).total_us;
  settled.score.is_too_large = !weight_limit_.allows(settled.graph);
  return settled;
}

Score Objective::score(const Graph& graph, const ObjectiveStage& stage) const {
  if (needs_memory()) return settle(graph, stage).score;
  return {.latency_us = cost_.graph_cost(graph).total_us,
          .is_too_large = !weight_limit_.allows(graph)};
}

bool Objective::is_allowed(const Score& score, const ObjectiveStage& stage) const {
  return score.weight_bytes <= stage.weight_bytes ||
         score.weight_bytes + score.peak_bytes <= stage.total_bytes;
}

bool Objective::is_gain(const Score& before, const Score& after,
                        const ObjectiveStage& stage) const {
  if (after.is_too_large || !is_allowed(after, stage)) return false;
  if (!stage.lower_peak)
    return after.peak_bytes <= stage.cap_bytes && after.latency_us < kRealGain * before.latency_us;
  // Equal blocks have equal peaks: the first that is mended leaves one peak less.
  const auto memory = [](const Score& s) {
    return std::tie(s.peak_bytes, s.live_bytes, s.peak_steps);
  };
  if (memory(after) != memory(before)) return memory(after) < memory(before);
  return after.latency_us < kRealGain * before.latency_us;
}

bool Objective::may_be_gain(const Graph& from, const Score& of_from, const Graph& graph,
                            const Score& best) const {
  constexpr double kRounding = 1 + 1e-9;
  if (needs_memory()) return true;
  const auto change_us = cost_.cost_change_us(from, graph);
  if (!change_us || of_from.latency_us + *change_us < kRounding * kRealGain * best.latency_us)
    return true;
  weight_limit_.allows(graph);  // it remembers whether it has refused some
  return false;
}

bool Objective::is_better(const Score& a, const Score& b) const {
  if (a.is_too_large != b.is_too_large) return b.is_too_large;
  const bool by_latency = kind_ == ObjectiveKind::kLatency ||
                          (kind_ == ObjectiveKind::kLatencyUnderMemory && fits(a) && fits(b));
  if (!by_latency && a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
  return a.latency_us < b.latency_us;
}

std::unique_ptr<cost::CostModel> Objective::guide(Guide guide, const Graph& region,
                                                  const ObjectiveStage& stage) const {
  if (guide == Guide::kLatency) return nullptr;
  if (is_for_growth(guide)) {
    const bool may_grow = guide == Guide::kLatencyAtGrowth;
    return std::make_unique<GrowthCost>(region, may_grow ? weight_limit_.most_growth() : 0,
                                        weight_limit_, cost_);
  }
  return std::make_unique<GuideCost>(guide, region, stage, cost_, *backend_, fusion_);
}

}  // namespace soapstone::search
