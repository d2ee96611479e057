// The outer loop: cover, search what is new, apply what was found, again.
#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "search/base/real_gain.h"
#include "search/base/trace.h"
#include "search/searcher.h"

namespace soapstone::search {

using core::Graph;
/// Among the best, the best first, each graph once, if it is no worse than the original.
void Searcher::remember(const Candidate& candidate) {
  if (objective_.is_better(score_before_, candidate.score)) return;
  tell_of_gain(candidate.score);
  auto& best = result_.best;
  const bool is_planned = std::ranges::any_of(
      candidate.steps, [&](const Step& step) { return step.rewriting(rules_).is_placed; });
  if (!is_planned && (!unplanned_ || objective_.is_better(candidate.score, unplanned_->score)))
    unplanned_ = candidate;
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

void Searcher::tell_of_gain(const Score& score) {
  if (has_told_ || !options_.found_gain || !objective_.is_better(score, score_before_)) return;
  has_told_ = true;
  options_.found_gain();
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
  const std::uint64_t total = options_.strategy == Strategy::kPortfolio
                                  ? options_.budget.value_or(0)
                                  : options_.budget.value_or(kDefaultBudget);
  progress_.update(result_.graphs_expanded, total, note);
}

StopReason Searcher::stop_reason() const {
  if (stop_.stop_requested()) return StopReason::kInterrupted;
  if (out_of_time()) return StopReason::kTime;
  const bool has_budget = options_.strategy != Strategy::kEqsat;  // saturation expands no graphs
  if (is_cut_short_ || (has_budget && is_used_up())) return StopReason::kBudget;
  return kinds_.all_exhausted() ? StopReason::kExhausted : StopReason::kSettled;
}

void Searcher::run_stage(const Candidate& original) {
  reached_.clear();
  gone_on_from_.clear();
  unplanned_.reset();
  plans_.clear();
  expect_openings(original.graph);
  for (const Rung& rung : ladder(options_)) {
    work_at_rung_ = result_.work();
    work_of_rung_ = rung.work;
    for (const Pass& pass : rung.openings) {
      now_ = original;
      const std::vector<Reached> reached = race(rung, pass, result_.work());
      reached_.insert(reached_.end(), reached.begin(), reached.end());
    }
    if (rung.folds_first) fold_before_merging(rung, original);
    go_on_from_plans(rung, original);
    take_turns(rung);
    go_on_from_best(rung);
    // What plans made cheaper may hide what they would make of what the passes have come to.
    if (unplanned_ && gone_on_from_.insert(unplanned_->graph.hash()).second) {
      go_on_from_plans(rung, Candidate(*unplanned_));
      go_on_from_best(rung);
    }
    search_plans(rung, original);
    take_turns(rung);
    go_on_from_best(rung);
    leave_idle_moves_out();
    is_cut_short_ = result_.work() - work_at_rung_ >= work_of_rung_;
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

SearchResult Searcher::run(const Graph& original) {
  started_ = core::wall_s();
  result_.strategy = options_.strategy;
  const double cpu_before = core::process_cpu_s();
  result_.cost_before = cost_.graph_cost(original);
  best_traced_us_ = result_.cost_before.total_us;
  admission_.stop_proofs_when([this] { return stopped(); });
  specials_ = ops::SpecialValues(original, options_.surroundings);
  plans_.set_specials(specials_);
  stage_ = objective_.first_stage(original);
  Candidate start{original, result_.cost_before.total_us, {}, {}};
  for (std::optional<ObjectiveStage> next = stage_; next;) {
    stage_ = *next;
    share_ = stage_.lower_peak ? 0.5 : 1;
    start.score = objective_.score(start.graph, stage_);
    start.cost_us = start.score.latency_us;
    score_before_ = start.score;
    // Its order alone may be a gain.
    if (objective_.needs_memory() && result_.best.empty()) remember(start);
    run_stage(start);
    if (!result_.best.empty()) start = result_.best.front();
    next = objective_.next_stage(stage_, objective_.score(start.graph, stage_));
  }
  if (objective_.needs_memory()) settle_best();
  result_.stop_reason = stop_reason();
  crew_.rest();
  admission_.stop_proofs_when({});
  certify();
  kinds_.hand_back();
  result_.cpu_s = core::process_cpu_s() - cpu_before;
  result_.wall_s = core::wall_s() - started_;
  return std::move(result_);
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
    auto next = rules::apply(graph, step.rewriting(rules), step.match);
    CHECK(next.ok(), "a rewrite that fitted once does not fit again");
    graph = *std::move(next);
    if (!use(step, graph)) return;
  }
}

}  // namespace soapstone::search
