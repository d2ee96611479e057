// One search with what its parts share. Private to search/: search.cpp climbs the ladder,
// search_passes.cpp makes one pass after another, search_plans.cpp takes plans, search_ahead.cpp
// says what will be searched, search_certificate.cpp says how good the result is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/tasks/crew.h"
#include "search/passes/contest.h"
#include "search/passes/improvement.h"
#include "search/passes/kinds.h"
#include "search/passes/ladder.h"
#include "search/passes/plan_moves.h"
#include "search/passes/plans.h"
#include "search/search.h"

namespace soapstone::search {

class Searcher {
 public:
  Searcher(verifier::Admission& admission, cost::CostModel& cost, const SearchOptions& options,
           core::ProgressSink& progress, const core::StopToken& stop)
      : admission_(admission), rules_(admission.rules()), cost_(cost), options_(options),
        progress_(progress), stop_(stop), latency_(cost),
        objective_(options.objective != nullptr ? *options.objective : latency_),
        kinds_(
            admission, cost, options, objective_, crew_, [this] { return stopped(); },
            [this] { report_progress(); }, result_),
        plans_(admission, objective_, options.admits_made, options.behind_opaque),
        crew_(options.jobs) {}

  SearchResult run(const core::Graph& original);

 private:
  bool out_of_time() const {
    return options_.time_s > 0 && core::wall_s() - started_ > share_ * options_.time_s;
  }
  bool stopped() const { return stop_.stop_requested() || out_of_time(); }
  std::vector<Region> regions_of(std::size_t region_size);
  bool improve(const Pass& pass);
  bool improve(const Pass& pass, const Way& way);
  std::size_t growth_of(const Region& region, const Way& way);
  bool improve_by_contest(const Pass& pass);
  bool take_trials(const Pass& pass, const std::vector<Region>& regions);
  bool apply(std::vector<Site> sites);
  bool search_new(std::span<const Region* const> regions, const Pass& pass, const Way& way) {
    return kinds_.search_new(regions, way, {pass.region_size, now_.cost_us, budget()}, stage_);
  }
  /// Graphs that may be expanded in this stage. None: the rungs say how far they go.
  std::optional<std::uint64_t> budget() const {
    if (options_.strategy == Strategy::kPortfolio) return std::nullopt;
    const std::uint64_t budget = options_.budget.value_or(kDefaultBudget);
    return static_cast<std::uint64_t>(share_ * static_cast<double>(budget));
  }
  bool is_used_up() const {
    const bool is_limited = options_.strategy != Strategy::kPortfolio || options_.budget;
    return is_limited && result_.graphs_expanded >= options_.budget.value_or(kDefaultBudget);
  }
  /// A stage for a lower peak ends as soon as it is low enough.
  bool is_enough() const {
    return stage_.lower_peak && now_.score.peak_bytes <= stage_.enough_bytes;
  }
  bool may_go_on(const Pass& pass) const;
  bool improve_until_settled(const Pass& pass);
  void improve_in_turns(const Rung& rung);
  void fold_before_merging(const Rung& rung, const Candidate& original);
  using Moves = std::span<const PlanMove>;
  bool is_tried(const transforms::Transform& transform) const;
  Candidate drafted(Candidate from, Moves moves);
  using Drafting = std::function<Candidate()>;
  std::vector<Candidate> all_of(const std::vector<Drafting>& drafts);
  std::optional<Candidate> proved(Candidate draft, const Drafting& again);
  Candidate with_moves(const Candidate& from, Moves moves) {
    return proved(drafted(from, moves), [&] { return drafted(from, moves); }).value_or(from);
  }
  void go_on_from_plans(const Rung& rung, const Candidate& from);
  void go_on_from_best(const Rung& rung);
  /// Whether plans go on from it beside the other: graphs of nearly one cost lead to different
  /// ones.
  static bool is_nearly_as_good(const Candidate& candidate, const Candidate& other) {
    constexpr double kNearlyEqual = 1.002;
    return candidate.cost_us <= kNearlyEqual * other.cost_us;
  }
  void search_plans(const Rung& rung, const Candidate& from);
  void take_turns(const Rung& rung);
  void leave_idle_moves_out();
  void run_stage(const Candidate& original);
  void expect_openings(const core::Graph& original);
  void work_when_idle();
  /// A graph that an opening has come to, and the work behind it.
  struct Reached {
    std::uint64_t work;
    Score score;
  };
  bool is_behind(const Reached& now) const;
  std::vector<Reached> race(const Rung& rung, const Pass& pass, std::uint64_t before);
  void settle_best();
  void certify();
  void remember(const Candidate& candidate);
  void tell_of_gain(const Score& score);
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
  SearchResult result_;
  Kinds kinds_;
  PlanTaker plans_;
  Contest contest_;
  ops::SpecialValues specials_;           ///< Of the original.
  Score score_before_;                    ///< Of the graph with which the stage begins.
  std::optional<Candidate> unplanned_;    ///< The best of the stage without a step of a plan.
  std::set<std::uint64_t> gone_on_from_;  ///< Hashes of graphs from which plans were tried.
  std::vector<Reached> reached_;          ///< By the openings of the stage that were not given up.
  std::uint64_t work_at_rung_ = 0;        ///< Work done when the rung began, and that it may add.
  std::uint64_t work_of_rung_ = 0;
  bool is_cut_short_ = false;  ///< The last rung ended at its limit of work.
  Candidate now_;              ///< The best graph, from which the search goes on.
  std::map<const RegionResult*, std::size_t> growth_;  ///< Of weights, in bytes.
  double best_traced_us_ = 0;
  bool has_told_ = false;  ///< SearchOptions::found_gain was called.
  double started_ = 0;
  core::Crew crew_;  ///< Last, as its threads use the rest.
};

}  // namespace soapstone::search
