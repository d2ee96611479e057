// The outer loop: cover, search what is new, apply what was found, again.
#include "search/search.h"

#include "core/clock.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/hash.h"
#include "search/checkpoint.h"
#include "search/improvement.h"
#include "search/region.h"
#include "search/region_search.h"
#include "search/trace.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;

/// Regions searched at once, at most. Fixed: the result must not depend on the machine.
constexpr std::size_t kBatch = 32;
/// As many of them share the memory: more threads than that do not work on one batch for long.
constexpr double kAlive = 16;
/// Less of a cost is rounding and no gain.
constexpr double kRealGain = 1 - 1e-6;

/// What came of a region in a batch.
struct Searched {
  RegionResult result;
  bool resumed = false;
  double duration_us = 0;
};

class Searcher {
 public:
  Searcher(verifier::Admission& admission, cost::CostModel& cost, const SearchOptions& options,
           core::ProgressSink& progress, const core::StopToken& stop)
      : admission_(admission), rules_(admission.rules()), cost_(cost), options_(options),
        progress_(progress), stop_(stop),
        arena_(options.jobs > 0 ? options.jobs : tbb::task_arena::automatic) {}

  SearchResult run(const Graph& original);

 private:
  using Signature = std::vector<std::uint64_t>;
  /// What came of the regions that have one signature.
  using Memory = std::map<Signature, RegionResult>;

  bool out_of_time() const {
    return options_.time_s > 0 && core::wall_s() - started_ > options_.time_s;
  }
  bool stopped() const { return stop_.stop_requested() || out_of_time(); }
  bool improve(std::size_t region_size);
  std::vector<Region> regions_of(std::size_t region_size);
  void search_regions(const std::vector<const Region*>& fresh);
  void largest_first(const std::vector<const Region*>& batch,
                     const std::function<void(std::size_t)>& use);
  Searched search_one(const Region& region, const RegionLimits& limits);
  void keep(const Region& region, Searched found);
  void trace_pass(std::size_t region_size, const std::vector<Region>& regions, std::size_t fresh);
  RegionLimits limits(const std::vector<const Region*>& batch, const Region& region) const;
  bool may_go_on() const { return !stopped() && result_.graphs_expanded < options_.budget; }
  bool improve_until_settled(std::size_t region_size);
  void remember(const Candidate& candidate);
  void report_progress();
  StopReason stop_reason() const;

  verifier::Admission& admission_;
  const rules::RuleSet& rules_;
  cost::CostModel& cost_;
  const SearchOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  tbb::task_arena arena_;
  SearchResult result_;
  Memory memory_;
  Candidate now_;  ///< The best graph, from which the search goes on.
  std::uint64_t pass_ = 0;
  std::map<Signature, std::size_t> places_;  ///< Regions of each kind in the current pass.
  double best_traced_us_ = 0;
  double started_ = 0;
};

std::vector<Region> Searcher::regions_of(std::size_t region_size) {
  const auto parts = cover(now_.graph, region_size);
  std::vector<Region> regions(parts.size());
  arena_.execute([&] {
    tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t k) {
      if (!stopped()) regions[k] = extract_region(now_.graph, parts[k]);
    });
  });
  return regions;
}

RegionLimits Searcher::limits(const std::vector<const Region*>& batch, const Region& region) const {
  RegionLimits limits;
  limits.alpha = options_.alpha;
  limits.max_detour = options_.max_detour;
  limits.patience = options_.patience;
  limits.budget = (options_.budget - result_.graphs_expanded) / batch.size();
  // A graph of a region: ids, order and readers, and the nodes that it does not share.
  const double bytes =
      4000 + 80.0 * static_cast<double>(region.graph.node_bound() + region.graph.tensor_bound());
  const double graphs = options_.memory_mib * 1024 * 1024 / kAlive / bytes;
  limits.max_graphs = std::max<std::size_t>(16, static_cast<std::size_t>(graphs));
  return limits;
}

/// In parallel; what may take longest comes first, lest one thread be left with it in the end.
void Searcher::largest_first(const std::vector<const Region*>& batch,
                             const std::function<void(std::size_t)>& use) {
  std::vector<std::size_t> order(batch.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t k) { return batch[k]->nodes.size(); });
  std::atomic<std::size_t> next = 0;
  arena_.execute([&] {
    tbb::parallel_for(0, arena_.max_concurrency(), [&](int) {
      for (std::size_t k; (k = next++) < order.size();) use(order[k]);
    });
  });
}

Searched Searcher::search_one(const Region& region, const RegionLimits& limits) {
  const double begin_s = core::wall_s();
  Searched searched;
  if (options_.checkpoint != nullptr) {
    if (auto known = options_.checkpoint->find(region, admission_, cost_)) {
      searched.result = *std::move(known);
      searched.resumed = true;
    }
  }
  if (!searched.resumed) {
    searched.result =
        search_region(region.graph, admission_, cost_, limits, [this] { return stopped(); });
    if (options_.checkpoint != nullptr) options_.checkpoint->add(region, searched.result);
  }
  searched.duration_us = 1e6 * (core::wall_s() - begin_s);
  return searched;
}

void Searcher::keep(const Region& region, Searched found) {
  const RegionResult& result = found.result;
  if (options_.trace != nullptr) {
    const auto signature = core::hash_bytes(std::as_bytes(std::span(region.signature)));
    options_.trace->region({pass_, signature, &region.graph, places_[region.signature], &result,
                            found.resumed, found.duration_us});
  }
  result_.graphs_expanded += result.expanded;
  result_.graphs_built += result.built;
  result_.duplicates += result.duplicates;
  ++result_.regions_searched;
  if (found.resumed) {
    ++result_.regions_resumed;
    result_.graphs_resumed += result.expanded;
  }
  memory_.insert_or_assign(region.signature, std::move(found.result));
}

void Searcher::trace_pass(std::size_t region_size, const std::vector<Region>& regions,
                          std::size_t fresh) {
  ++pass_;
  if (options_.trace == nullptr) return;
  places_.clear();
  for (const Region& region : regions) ++places_[region.signature];
  options_.trace->pass({pass_, region_size, regions.size(), places_.size(), fresh, now_.cost_us});
}

void Searcher::search_regions(const std::vector<const Region*>& fresh) {
  for (std::size_t at = 0; at < fresh.size() && !stopped();) {
    const std::uint64_t left = options_.budget - result_.graphs_expanded;
    if (left == 0) return;
    const std::size_t remaining = fresh.size() - at;
    const std::size_t batches = (remaining + kBatch - 1) / kBatch;  // of like width
    const auto width = std::min<std::uint64_t>((remaining + batches - 1) / batches, left);
    const auto first = fresh.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<const Region*> batch(first, first + static_cast<std::ptrdiff_t>(width));
    std::vector<Searched> found(batch.size());
    const auto search = [&](std::size_t k) {
      found[k] = search_one(*batch[k], limits(batch, *batch[k]));
    };
    if (cost_.needs_quiet_machine()) {
      for (std::size_t k = 0; k < batch.size(); ++k) search(k);
    } else {
      largest_first(batch, search);
    }
    for (std::size_t k = 0; k < batch.size(); ++k) keep(*batch[k], std::move(found[k]));
    at += batch.size();
    report_progress();
  }
}

/// One pass. True: the graph became better.
bool Searcher::improve(std::size_t region_size) {
  const std::vector<Region> regions = regions_of(region_size);
  if (stopped()) return false;
  result_.regions += regions.size();
  std::map<Signature, bool> met;
  std::vector<const Region*> fresh;
  for (const Region& region : regions)
    if (!memory_.contains(region.signature) && met.emplace(region.signature, true).second)
      fresh.push_back(&region);
  trace_pass(region_size, regions, fresh.size());
  search_regions(fresh);
  std::vector<Site> sites;
  for (const Region& region : regions) {
    const auto known = memory_.find(region.signature);
    if (known != memory_.end() && !known->second.steps.empty())
      sites.push_back({&region, &known->second});
  }
  sites = select_disjoint(now_.graph, std::move(sites));
  std::erase_if(sites, [&](const Site& site) { return !holds(site, admission_); });
  const double before_us = now_.cost_us;
  const Graph before = options_.trace != nullptr ? now_.graph : Graph();
  const std::size_t steps_before = now_.steps.size();
  apply_where_it_gains(
      sites, rules_, cost_, [this] { return stopped(); }, now_);
  if (options_.trace != nullptr && now_.steps.size() > steps_before)
    options_.trace->applied({pass_, &before, std::span(now_.steps).subspan(steps_before)});
  report_progress();
  return now_.cost_us < kRealGain * before_us;
}

bool Searcher::improve_until_settled(std::size_t region_size) {
  bool improved = false;
  while (may_go_on() && improve(region_size)) improved = true;
  if (improved) remember(now_);
  return improved;
}

/// Among the best, cheapest first, each graph once.
void Searcher::remember(const Candidate& candidate) {
  auto& best = result_.best;
  const auto same = [&](const Candidate& other) {
    return same_structure(other.graph, candidate.graph);
  };
  if (std::ranges::any_of(best, same)) return;
  const auto at = std::ranges::upper_bound(best, candidate.cost_us, {}, &Candidate::cost_us);
  best.insert(at, candidate);
  if (best.size() > options_.keep) best.pop_back();
}

void Searcher::report_progress() {
  const double best_us =
      result_.best.empty() ? now_.cost_us : std::min(now_.cost_us, result_.best.front().cost_us);
  if (options_.trace != nullptr && best_us < kRealGain * best_traced_us_) {
    best_traced_us_ = best_us;
    options_.trace->best({result_.graphs_expanded, best_us});
  }
  progress_.update(result_.graphs_expanded, options_.budget,
                   fmt::format("best {:.3f}x", result_.cost_before.total_us / best_us));
}

StopReason Searcher::stop_reason() const {
  if (stop_.stop_requested()) return StopReason::kInterrupted;
  if (out_of_time()) return StopReason::kTime;
  if (result_.graphs_expanded >= options_.budget) return StopReason::kBudget;
  const bool all = std::ranges::all_of(
      memory_, [](const auto& m) { return m.second.stop == RegionStop::kExhausted; });
  return all ? StopReason::kExhausted : StopReason::kSettled;
}

SearchResult Searcher::run(const Graph& original) {
  started_ = core::wall_s();
  const double cpu_before = core::process_cpu_s();
  result_.cost_before = cost_.graph_cost(original);
  best_traced_us_ = result_.cost_before.total_us;
  for (const std::size_t size : options_.region_sizes) {
    now_ = {original, result_.cost_before.total_us, {}};
    improve_until_settled(size);
  }
  if (!result_.best.empty()) now_ = result_.best.front();
  for (bool improved = options_.region_sizes.size() > 1; improved && may_go_on();) {
    improved = false;
    for (const std::size_t size : options_.region_sizes)
      improved = improve_until_settled(size) || improved;
  }
  result_.stop_reason = stop_reason();
  result_.cpu_s = core::process_cpu_s() - cpu_before;
  return std::move(result_);
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
  case StopReason::kExhausted:
    return "search space exhausted";
  case StopReason::kSettled:
    return "no more gains found";
  case StopReason::kBudget:
    return "budget of graphs used up";
  case StopReason::kTime:
    return "time used up";
  case StopReason::kInterrupted:
    return "interrupted";
  }
  return "";
}

SearchResult search(const Graph& original, verifier::Admission& rules, cost::CostModel& cost,
                    const SearchOptions& options, core::ProgressSink& progress,
                    const core::StopToken& stop) {
  return Searcher(rules, cost, options, progress, stop).run(original);
}

void for_each_graph(const Graph& original, const rules::RuleSet& rules,
                    const std::vector<Step>& steps,
                    const std::function<bool(const Step&, const Graph&)>& use) {
  Graph graph = original;
  for (const Step& step : steps) {
    auto next = rules::apply(graph, rules[step.id], step.match);
    CHECK(next.ok(), "a rewrite that fitted once does not fit again");
    graph = *std::move(next);
    if (!use(step, graph)) return;
  }
}

}  // namespace soapstone::search
