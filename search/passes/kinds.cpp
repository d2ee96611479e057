// See kinds.h.
#include "search/passes/kinds.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "cost/models/calibration.h"
#include "search/base/trace.h"
#include "search/passes/checkpoint.h"
#include "search/passes/improvement.h"
#include "search/saturation/eqsat.h"

namespace soapstone::search {
namespace {

using core::Graph;

/// Regions searched at once, at most. Fixed: the result must not depend on the machine.
constexpr std::size_t kBatch = 32;
/// The number of regions that share the memory. At most this many of a batch are searched at once
/// for long.
constexpr double kAlive = 16;
/// New kinds that a pass without a budget searches, at most, and in e-graphs of many e-nodes fewer:
/// so work is looked at often enough.
constexpr std::size_t kKindsAtOnce = 96, kFewestAtOnce = 16, kNodesAtOnce = 96'000;
/// Rounds for a sharp lower bound.
constexpr int kBoundRounds = 200;
/// Graphs that a pass without a budget may expand in one region.
constexpr std::uint64_t kMostInRegion = 20'000;

/// New kinds that a pass without a budget searches, at most.
std::size_t kinds_at_once(const Way& way) {
  if (!way.saturates) return kKindsAtOnce;
  return std::clamp<std::uint64_t>(kNodesAtOnce / std::max<std::uint64_t>(way.limit, 1),
                                   kFewestAtOnce, kKindsAtOnce);
}

}  // namespace

void RegionMemory::forget(const verifier::Admission& rules) {
  const auto is_out = [&](const RegionStep& step) {
    if (!step.lemma) return rules.is_excluded(step.rewrite.rule);
    return std::ranges::any_of(step.lemma->steps,
                               [&](const LemmaStep& used) { return rules.is_excluded(used.rule); });
  };
  for (auto& [way, of_way] : known) {
    std::erase_if(of_way, [&](const auto& entry) {
      // A search that was stopped would have gone on.
      return entry.second.stop == RegionStop::kStopped ||
             std::ranges::any_of(entry.second.steps, is_out);
    });
  }
}

bool Kinds::search_new(std::span<const Region* const> regions, const Way& way, const PassInfo& pass,
                       const ObjectiveStage& stage) {
  counts_.regions += regions.size();
  const auto& known = known_[way];
  std::set<Signature> met;
  std::vector<const Region*> fresh;
  for (const Region* region : regions)
    if (!known.contains(region->signature) && met.insert(region->signature).second)
      fresh.push_back(region);
  const std::size_t at_once = kinds_at_once(way);
  const bool is_all = pass.budget || fresh.size() <= at_once;
  if (!is_all) fresh.resize(at_once);
  trace_pass(regions, fresh.size(), pass);
  if (way.saturates) prepare_to_saturate();
  search_all(fresh, way, pass, stage);
  return is_all;
}

const RegionResult* Kinds::find(const Region& region, const Way& way) const {
  const auto known = known_.find(way);
  if (known == known_.end()) return nullptr;
  const auto found = known->second.find(region.signature);
  return found == known->second.end() ? nullptr : &found->second;
}

bool Kinds::all_exhausted() const {
  return std::ranges::all_of(known_, [&](const auto& of_way) {
    // What moves have seen in full, the portfolio only tries to see otherwise.
    if (of_way.first.saturates && options_.strategy == Strategy::kPortfolio) return true;
    return std::ranges::all_of(
        of_way.second, [](const auto& m) { return m.second.stop == RegionStop::kExhausted; });
  });
}

void Kinds::search_all(const std::vector<const Region*>& fresh, const Way& way,
                       const PassInfo& pass, const ObjectiveStage& stage) {
  for (std::size_t at = 0; at < fresh.size() && !stopped_();) {
    const std::size_t remaining = fresh.size() - at;
    const std::uint64_t left = way.saturates ? remaining : left_of(pass);
    if (left == 0) return;
    const std::size_t batches = (remaining + kBatch - 1) / kBatch;  // of like width
    const auto width = std::min<std::uint64_t>((remaining + batches - 1) / batches, left);
    const auto first = fresh.begin() + static_cast<std::ptrdiff_t>(at);
    search_batch({first, first + static_cast<std::ptrdiff_t>(width)}, way, pass, stage);
    at += width;
    report_();
  }
}

void Kinds::search_batch(const std::vector<const Region*>& batch, const Way& way,
                         const PassInfo& pass, const ObjectiveStage& stage) {
  const std::uint64_t budget = pass.budget ? left_of(pass) / batch.size() : kMostInRegion;
  std::vector<Searched> found(batch.size());
  const auto search = [&](std::size_t k) {
    const double begin_s = core::wall_s();
    const Region& region = *batch[k];
    if (auto known = ahead_.take(region, way))
      found[k].result = *std::move(known);
    else
      found[k].result = way.saturates ? saturate(region, way)
                                      : backtrack(region, way, limits(region, way, budget), stage,
                                                  found[k].resumed);
    found[k].duration_us = 1e6 * (core::wall_s() - begin_s);
  };
  if (cost_.needs_quiet_machine()) {
    for (std::size_t k = 0; k < batch.size(); ++k) search(k);
  } else {
    largest_first(batch, way, search);
  }
  for (std::size_t k = 0; k < batch.size(); ++k) keep(*batch[k], way, std::move(found[k]));
}

/// In parallel; what may take longest comes first, lest one thread be left with it in the end, and
/// last what is being searched already.
void Kinds::largest_first(const std::vector<const Region*>& batch, const Way& way,
                          const std::function<void(std::size_t)>& use) {
  std::vector<std::size_t> order(batch.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t k) { return batch[k]->nodes.size(); });
  std::ranges::stable_partition(
      order, [&](std::size_t k) { return !ahead_.is_under_way(*batch[k], way); });
  crew_.each(order.size(), [&](std::size_t at) { use(order[at]); });
}

void Kinds::expect(std::function<std::vector<Region>()> regions, const Way& way) {
  // Checkpoints and quiet machines want one thing after the other.
  if (crew_.threads() == 1 || cost_.needs_quiet_machine() || options_.checkpoint != nullptr) return;
  ahead_.expect(
      [regions = std::move(regions), way] {
        std::vector<Region> first;
        std::set<Signature> met;
        for (Region& region : regions())
          if (met.size() < kinds_at_once(way) && met.insert(region.signature).second)
            first.push_back(std::move(region));
        return first;
      },
      way);
}

RegionResult Kinds::search_ahead(const Region& region, const Way& way) {
  if (way.saturates) {
    prepare_to_saturate();
    return saturate(region, way);
  }
  bool resumed = false;
  return backtrack(region, way, limits(region, way, kMostInRegion), {}, resumed);
}

RegionResult Kinds::backtrack(const Region& region, const Way& way, const RegionLimits& limits,
                              const ObjectiveStage& stage, bool& resumed) {
  const auto guided = objective_.guide(way.guide, region.graph, stage);
  // Bounds on memory are those of the stage, which a checkpoint does not know.
  const bool knows_guide = way.guide == Guide::kLatency || is_for_growth(way.guide);
  Checkpoint* checkpoint = knows_guide ? options_.checkpoint : nullptr;
  if (checkpoint != nullptr) {
    if (auto known = checkpoint->find(region, way, limits.budget, admission_, cost_)) {
      resumed = true;
      return *std::move(known);
    }
  }
  RegionResult result = search_region(region.graph, admission_, guided ? *guided : cost_, limits,
                                      stopped_, region.specials);
  if (guided) price_by_latency(region.graph, admission_.rules(), cost_, result);
  if (checkpoint != nullptr) checkpoint->add(region, way, result);
  return result;
}

/// Checkpoints do not know of lemmas.
RegionResult Kinds::saturate(const Region& region, const Way& way) {
  EqsatLimits limits;
  limits.saturation.nodes = way.limit;
  limits.bound_rounds = way.bounds ? kBoundRounds : 0;
  limits.exact_operators = options_.eqsat_region_size;
  return saturate_region(region.graph, admission_, *prepared_, cost_,
                         e_node_cost_ ? *e_node_cost_ : cost_, limits, stopped_,
                         !region.specials.none());
}

void Kinds::prepare_to_saturate() {
  std::call_once(is_prepared_, [this] { make_ready_to_saturate(); });
}

void Kinds::make_ready_to_saturate() {
  prepared_.emplace(admission_.rules().rules(), true);
  if (!cost_.is_timed()) return;
  bool all_timed = true;
  const auto time = [&](const Graph& graph) -> std::optional<double> {
    const cost::GraphCost cost = cost_.graph_cost(graph);
    if (cost.estimated_us == 0) return cost.total_us;
    all_timed = false;
    return std::nullopt;
  };
  const cost::RooflineParameters calibrated = cost::calibrate(time);
  // Of a device without these times the estimates know more; e-nodes are too many to be timed here.
  if (all_timed || cost_.needs_quiet_machine())
    e_node_cost_ = cost::make_roofline_cost(cost_.fusion_rules(), calibrated);
}

/// Graphs that may still be expanded in the pass.
std::uint64_t Kinds::left_of(const PassInfo& pass) const {
  if (!pass.budget) return std::numeric_limits<std::uint64_t>::max();
  return *pass.budget - std::min(*pass.budget, counts_.graphs_expanded);
}

RegionLimits Kinds::limits(const Region& region, const Way& way, std::uint64_t budget) const {
  RegionLimits limits;
  if (way.folds) limits.left_out = merging_;
  limits.alpha = options_.alpha;
  limits.max_detour = options_.max_detour;
  limits.patience = way.limit;
  limits.budget = budget;
  // A graph of a region: ids, order and readers, and the nodes that it does not share.
  const double bytes =
      4000 + 80.0 * static_cast<double>(region.graph.node_bound() + region.graph.tensor_bound());
  const double graphs = options_.memory_mib * 1024 * 1024 / kAlive / bytes;
  limits.max_graphs = std::max<std::size_t>(16, static_cast<std::size_t>(graphs));
  return limits;
}

void Kinds::keep(const Region& region, const Way& way, Searched found) {
  const RegionResult& result = found.result;
  if (options_.trace != nullptr) {
    const auto signature = core::hash_bytes(std::as_bytes(std::span(region.signature)));
    options_.trace->region({pass_, signature, &region.graph, places_[region.signature], &result,
                            found.resumed, found.duration_us});
  }
  counts_.graphs_expanded += result.expanded;
  counts_.graphs_expanded_whole += result.expanded_whole;
  counts_.graphs_built += result.built;
  counts_.duplicates += result.duplicates;
  counts_.e_nodes += result.e_nodes;
  counts_.underivable += result.lost ? 1 : 0;
  ++counts_.regions_searched;
  if (found.resumed) {
    ++counts_.regions_resumed;
    counts_.graphs_resumed += result.expanded;
  }
  known_[way].insert_or_assign(region.signature, std::move(found.result));
}

void Kinds::trace_pass(std::span<const Region* const> regions, std::size_t fresh,
                       const PassInfo& pass) {
  ++pass_;
  if (options_.trace == nullptr) return;
  places_.clear();
  for (const Region* region : regions) ++places_[region->signature];
  options_.trace->pass(
      {pass_, pass.region_size, regions.size(), places_.size(), fresh, pass.graph_us});
}

}  // namespace soapstone::search
