// The outer loop: cover, search what is new, apply what was found, again.
#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/tasks/tasks.h"
#include "search/base/real_gain.h"
#include "search/base/trace.h"
#include "search/passes/improvement.h"
#include "search/passes/kinds.h"
#include "search/regions/region.h"

namespace soapstone::search {
namespace {

using core::Graph;

class Searcher {
 public:
  Searcher(verifier::Admission& admission, cost::CostModel& cost, const SearchOptions& options,
           core::ProgressSink& progress, const core::StopToken& stop)
      : admission_(admission), rules_(admission.rules()), cost_(cost), options_(options),
        progress_(progress), stop_(stop), latency_(cost),
        objective_(options.objective != nullptr ? *options.objective : latency_),
        arena_(options.jobs),
        kinds_(
            admission, cost, options, objective_, arena_, [this] { return stopped(); },
            [this] { report_progress(); }, result_) {}

  SearchResult run(const Graph& original);

 private:
  bool out_of_time() const {
    return options_.time_s > 0 && core::wall_s() - started_ > share_ * options_.time_s;
  }
  bool stopped() const { return stop_.stop_requested() || out_of_time(); }
  /// A stretch of the search: regions of a size, and how they are searched.
  struct Pass {
    std::size_t region_size;
    bool saturates;
    bool folds = false;
  };
  std::vector<Pass> passes() const;
  std::vector<Region> regions_of(std::size_t region_size);
  bool improve(const Pass& pass);
  bool improve(std::size_t region_size, const Way& way);
  std::uint64_t budget() const {
    return static_cast<std::uint64_t>(share_ * static_cast<double>(options_.budget));
  }
  /// A stage for a lower peak ends as soon as it is low enough.
  bool is_enough() const {
    return stage_.lower_peak && now_.score.peak_bytes <= stage_.enough_bytes;
  }
  bool may_go_on(const Pass& pass) const {
    return !stopped() && !is_enough() && (pass.saturates || result_.graphs_expanded < budget());
  }
  bool improve_until_settled(const Pass& pass);
  void fold_before_merging(const Candidate& original);
  void run_stage(const Candidate& original);
  void settle_best();
  void certify();
  void remember(const Candidate& candidate);
  void report_progress();
  StopReason stop_reason() const;

  verifier::Admission& admission_;
  const rules::RuleSet& rules_;
  cost::CostModel& cost_;
  const SearchOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  Objective latency_;  ///< For when the options name no objective.
  const Objective& objective_;
  ObjectiveStage stage_;
  double share_ = 1;  ///< Share of budget and time that the stages so far may use.
  core::TaskArena arena_;
  SearchResult result_;
  Kinds kinds_;
  Candidate now_;  ///< The best graph, from which the search goes on.
  double best_traced_us_ = 0;
  double started_ = 0;
};

std::vector<Region> Searcher::regions_of(std::size_t region_size) {
  const auto parts = cover(now_.graph, region_size, options_.behind_opaque);
  std::vector<Region> regions(parts.size());
  arena_.parallel_for(0, parts.size(), [&](std::size_t k) {
    if (!stopped()) regions[k] = extract_region(now_.graph, parts[k]);
  });
  return regions;
}

/// True: the graph became better.
bool Searcher::improve(const Pass& pass) {
  if (pass.saturates) return improve(pass.region_size, {true, Guide::kLatency});
  for (const Guide guide : stage_.guides) {
    if (!may_go_on(pass)) return false;
    if (improve(pass.region_size, {false, guide, pass.folds})) return true;
  }
  return false;
}

/// One pass with what one way of searching proposes.
bool Searcher::improve(std::size_t region_size, const Way& way) {
  const std::vector<Region> regions = regions_of(region_size);
  if (stopped()) return false;
  result_.regions += regions.size();
  kinds_.search_new(regions, way, {region_size, now_.cost_us, budget()}, stage_);
  std::vector<Site> sites;
  for (const Region& region : regions) {
    const RegionResult* found = kinds_.find(region, way);
    if (found != nullptr && !found->steps.empty()) sites.push_back({&region, found});
  }
  sites = select_disjoint(now_.graph, std::move(sites));
  std::erase_if(sites, [&](const Site& site) { return !holds(site, admission_); });
  const Score score_before = now_.score;
  const Graph before = options_.trace != nullptr ? now_.graph : Graph();
  const std::size_t steps_before = now_.steps.size();
  apply_where_it_gains(
      sites, rules_, objective_, stage_, [this] { return stopped() || is_enough(); }, now_);
  if (options_.trace != nullptr && now_.steps.size() > steps_before)
    options_.trace->applied({kinds_.pass(), &before, std::span(now_.steps).subspan(steps_before)});
  report_progress();
  return objective_.is_gain(score_before, now_.score, stage_);
}

bool Searcher::improve_until_settled(const Pass& pass) {
  bool improved = false;
  while (may_go_on(pass) && improve(pass)) improved = true;
  if (improved) remember(now_);
  return improved;
}

/// Among the best, the best first, each graph once.
void Searcher::remember(const Candidate& candidate) {
  auto& best = result_.best;
  const auto same = [&](const Candidate& other) {
    return same_structure(other.graph, candidate.graph);
  };
  if (std::ranges::any_of(best, same)) return;
  const auto at = std::ranges::upper_bound(
      best, candidate.score,
      [this](const Score& a, const Score& b) { return objective_.is_better(a, b); },
      &Candidate::score);
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
  std::string note = fmt::format("best {:.3f}x", result_.cost_before.total_us / best_us);
  if (objective_.needs_memory())
    note += fmt::format(", peak {:.3g} MB", 1e-6 * static_cast<double>(now_.score.peak_bytes));
  progress_.update(result_.graphs_expanded, options_.budget, note);
}

StopReason Searcher::stop_reason() const {
  if (stop_.stop_requested()) return StopReason::kInterrupted;
  if (out_of_time()) return StopReason::kTime;
  const bool has_budget = options_.strategy != Strategy::kEqsat;  // saturation expands no graphs
  if (has_budget && result_.graphs_expanded >= options_.budget) return StopReason::kBudget;
  return kinds_.all_exhausted() ? StopReason::kExhausted : StopReason::kSettled;
}

std::vector<Searcher::Pass> Searcher::passes() const {
  std::vector<Pass> passes;
  if (options_.strategy != Strategy::kEqsat)
    for (const std::size_t size : options_.region_sizes) passes.push_back({size, false});
  if (options_.strategy != Strategy::kBacktracking)
    passes.push_back({options_.eqsat_region_size, true});
  return passes;
}

/// From the original without merging, as far as that goes, and then on with all rules: what was
/// merged first would hide what can be folded.
void Searcher::fold_before_merging(const Candidate& original) {
  const std::vector<bool> merging = merging_rules(rules_);
  const bool merged = std::ranges::any_of(result_.best, [&](const Candidate& candidate) {
    return std::ranges::any_of(
        candidate.steps, [&](const Step& step) { return !step.lemma && merging[step.id.index()]; });
  });
  if (options_.strategy == Strategy::kEqsat || options_.region_sizes.empty() || !merged) return;
  now_ = original;
  const std::size_t largest = *std::ranges::max_element(options_.region_sizes);
  if (!improve_until_settled({largest, false, true})) return;
  for (const Pass& pass : passes()) improve_until_settled(pass);
}

/// Each pass from the original, then all of them in turn from the best.
void Searcher::run_stage(const Candidate& original) {
  const std::vector<Pass> all = passes();
  for (const Pass& pass : all) {
    now_ = original;
    improve_until_settled(pass);
  }
  fold_before_merging(original);
  if (!result_.best.empty()) {
    now_ = result_.best.front();
    now_.score = objective_.score(now_.graph, stage_);
  }
  for (bool improved = all.size() > 1; improved && !stopped() && !is_enough();) {
    improved = false;
    for (const Pass& pass : all) improved = improve_until_settled(pass) || improved;
  }
}

/// The best graphs in the order in which they are to be run.
void Searcher::settle_best() {
  for (Candidate& candidate : result_.best) {
    auto settled = objective_.settle(candidate.graph, stage_);
    candidate.graph = std::move(settled.graph);
    candidate.score = settled.score;
    candidate.cost_us = settled.score.latency_us;
  }
  std::ranges::stable_sort(
      result_.best, [this](const Score& a, const Score& b) { return objective_.is_better(a, b); },
      &Candidate::score);
}

/// Certifies the best graph. Its regions are saturated once more, as it may not be the graph of the
/// last pass.
void Searcher::certify() {
  if (options_.strategy == Strategy::kBacktracking || !cost_.is_monotone()) return;
  if (!result_.best.empty()) now_ = result_.best.front();
  const Way way{true, Guide::kLatency};
  const std::vector<Region> regions = regions_of(options_.eqsat_region_size);
  kinds_.search_new(regions, way, {options_.eqsat_region_size, now_.cost_us, budget()}, stage_);
  if (stopped()) return;
  Certificate certificate;
  certificate.regions = regions.size();
  for (const Region& region : regions) {
    const RegionResult& found = *kinds_.find(region, way);
    // A gain in the region alone counts as a gap, even if the whole graph does not gain.
    const bool is_best = found.steps.empty();
    if (is_best && found.optimal) ++certificate.optimal;
    if (is_best && found.cheapest_kept) ++certificate.cheapest_kept;
    if (found.cost_before_us > 0)
      certificate.largest_gap =
          std::max(certificate.largest_gap, 1 - found.bound_us / found.cost_before_us);
  }
  result_.certificate = certificate;
}

SearchResult Searcher::run(const Graph& original) {
  started_ = core::wall_s();
  result_.strategy = options_.strategy;
  const double cpu_before = core::process_cpu_s();
  result_.cost_before = cost_.graph_cost(original);
  best_traced_us_ = result_.cost_before.total_us;
  stage_ = objective_.first_stage(original);
  Candidate start{original, result_.cost_before.total_us, {}, {}};
  for (std::optional<ObjectiveStage> next = stage_; next;) {
    stage_ = *next;
    share_ = stage_.lower_peak ? 0.5 : 1;
    start.score = objective_.score(start.graph, stage_);
    start.cost_us = start.score.latency_us;
    // Its order alone may be a gain.
    if (objective_.needs_memory() && result_.best.empty()) remember(start);
    run_stage(start);
    if (!result_.best.empty()) start = result_.best.front();
    next = objective_.next_stage(stage_, objective_.score(start.graph, stage_));
  }
  if (objective_.needs_memory()) settle_best();
  result_.stop_reason = stop_reason();
  certify();
  kinds_.hand_back();
  result_.cpu_s = core::process_cpu_s() - cpu_before;
  result_.wall_s = core::wall_s() - started_;
  return std::move(result_);
}

}  // namespace

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
    auto next = rules::apply(graph, step.rewriting(rules), step.match);
    CHECK(next.ok(), "a rewrite that fitted once does not fit again");
    graph = *std::move(next);
    if (!use(step, graph)) return;
  }
}

}  // namespace soapstone::search
