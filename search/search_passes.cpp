// Passes over the graph, see searcher.h.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "rules/batching/towers.h"
#include "rules/blocks/blocks.h"
#include "rules/blocks/passing_parts.h"
#include "rules/blocks/rows_of_cuts.h"
#include "rules/contractions/contractions.h"
#include "rules/contractions/factored_sums.h"
#include "rules/contractions/factors.h"
#include "rules/contractions/flat_batches.h"
#include "rules/contractions/offsets.h"
#include "rules/contractions/shared_operands.h"
#include "rules/demand/demand.h"
#include "rules/demand/readings.h"
#include "rules/demand/restored_cuts.h"
#include "rules/demand/separation.h"
#include "rules/linear_maps/linear_maps.h"
#include "rules/moves/moved_pads.h"
#include "rules/moves/moves.h"
#include "rules/moves/plain_moves.h"
#include "rules/moves/steps_of_products.h"
#include "rules/recognition/recognition.h"
#include "rules/repetition/common_nodes.h"
#include "rules/repetition/flattened_rows.h"
#include "rules/repetition/repetition.h"
#include "rules/windows/mirrors.h"
#include "rules/windows/shifts.h"
#include "rules/windows/windows.h"
#include "search/base/trace.h"
#include "search/regions/region.h"
#include "search/searcher.h"

namespace soapstone::search {
namespace {

/// Of all finders of an order: plans make room for plans.
constexpr int kPlanRounds = 3;

std::vector<const Region*> pointers_to(const std::vector<Region>& regions) {
  std::vector<const Region*> pointers;
  for (const Region& region : regions) pointers.push_back(&region);
  return pointers;
}

}  // namespace

std::vector<Region> Searcher::regions_of(std::size_t region_size) {
  const auto parts = cover(now_.graph, region_size, options_.behind_opaque);
  std::vector<Region> regions(parts.size());
  crew_.each(parts.size(), [&](std::size_t k) {
    if (!stopped()) regions[k] = extract_region(now_.graph, parts[k]);
  });
  return regions;
}

bool Searcher::may_go_on(const Pass& pass) const {
  if (stopped() || is_enough()) return false;
  if (result_.work() - work_at_rung_ >= work_of_rung_) return false;
  if (options_.strategy == Strategy::kPortfolio) return !is_used_up();
  return pass.method == Pass::Method::kSaturation || result_.graphs_expanded < *budget();
}

/// True: the graph became better, or there is more to search.
bool Searcher::improve(const Pass& pass) {
  if (pass.method == Pass::Method::kContest) return improve_by_contest(pass);
  if (pass.method == Pass::Method::kSaturation) return improve(pass, pass.saturates());
  for (const Guide guide : stage_.guides) {
    if (!may_go_on(pass)) return false;
    if (improve(pass, pass.moves(guide))) return true;
  }
  return false;
}

/// One pass with what one way of searching proposes.
bool Searcher::improve(const Pass& pass, const Way& way) {
  const std::vector<Region> regions = regions_of(pass.region_size);
  if (stopped()) return false;
  const bool is_all = search_new(pointers_to(regions), pass, way);
  std::vector<Site> sites;
  for (const Region& region : regions) {
    const RegionResult* found = kinds_.find(region, way);
    if (found != nullptr && !found->steps.empty()) sites.push_back({&region, found});
  }
  return apply(std::move(sites)) || (!is_all && !stopped());
}

/// Searches regions in both ways until it is decided which suits each family. False: some families
/// are left.
bool Searcher::take_trials(const Pass& pass, const std::vector<Region>& regions) {
  const Way moves = pass.moves(Guide::kLatency), saturates = pass.saturates(contest_.is_deep());
  for (auto trials = contest_.trials(regions); !trials.empty(); trials = contest_.trials(regions)) {
    const bool all_moved = search_new(trials, pass, moves);
    const bool all_saturated = search_new(trials, pass, saturates);
    if (!all_moved || !all_saturated || stopped()) return false;
    for (const Region* region : trials)
      contest_.judge(*region, *kinds_.find(*region, moves), *kinds_.find(*region, saturates));
  }
  return true;
}

/// One pass in which each region is searched in the way that suits its family.
bool Searcher::improve_by_contest(const Pass& pass) {
  const std::vector<Region> regions = regions_of(pass.region_size);
  if (stopped()) return false;
  bool is_all = take_trials(pass, regions);
  if (stopped()) return false;
  if (contest_.deepen()) is_all = take_trials(pass, regions);
  if (stopped() || !contest_.is_won_by_saturation()) return false;
  const Way moves = pass.moves(Guide::kLatency), saturates = pass.saturates(contest_.is_deep());
  std::vector<const Region*> to_move = pointers_to(regions), to_saturate;
  const auto prefers = [&](const Region* region) { return contest_.prefers_saturation(*region); };
  std::ranges::copy_if(to_move, std::back_inserter(to_saturate), prefers);
  std::erase_if(to_move, prefers);
  is_all = search_new(to_move, pass, moves) && is_all;
  is_all = search_new(to_saturate, pass, saturates) && is_all;
  std::vector<Site> sites;
  for (const Region& region : regions) {
    const RegionResult* found = kinds_.find(region, prefers(&region) ? saturates : moves);
    if (found != nullptr && !found->steps.empty()) sites.push_back({&region, found});
  }
  return apply(std::move(sites)) || (!is_all && !stopped());
}

/// Applies what was found where the whole graph gains. True: it became better.
bool Searcher::apply(std::vector<Site> sites) {
  sites = select_disjoint(now_.graph, std::move(sites));
  std::erase_if(sites, [&](const Site& site) { return !holds(site, admission_); });
  const Score score_before = now_.score;
  const core::Graph before = options_.trace != nullptr ? now_.graph : core::Graph();
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

void Searcher::improve_in_turns(const Rung& rung) {
  for (const Pass& pass : rung.turns) improve_until_settled(pass);
}

/// Whether an opening came to a better graph with about the same work, or less.
bool Searcher::is_behind(const Reached& now) const {
  const std::uint64_t work = now.work + now.work / 4;
  return std::ranges::any_of(reached_, [&](const Reached& other) {
    return other.work <= work && objective_.is_gain(now.score, other.score, stage_);
  });
}

/// Goes on as far as the pass leads, unless another opening came further with less work than was
/// done since `before`.
std::vector<Searcher::Reached> Searcher::race(const Rung& rung, const Pass& pass,
                                              std::uint64_t before) {
  std::vector<Reached> reached;
  while (may_go_on(pass) && improve(pass)) {
    reached.push_back({result_.work() - before, now_.score});
    const bool is_raced = rung.is_race && pass.method == Pass::Method::kMoves;
    if (is_raced && is_behind(reached.back())) break;
  }
  if (!reached.empty()) remember(now_);
  return reached;
}

/// From the original without merging, as far as that goes, and then on with all rules: what was
/// merged first would hide what can be folded.
void Searcher::fold_before_merging(const Rung& rung, const Candidate& original) {
  const std::vector<bool> merging = merging_rules(rules_);
  const bool merged = std::ranges::any_of(result_.best, [&](const Candidate& candidate) {
    return std::ranges::any_of(
        candidate.steps, [&](const Step& step) { return !step.lemma && merging[step.id.index()]; });
  });
  std::vector<Pass> moving = rung.turns;
  std::erase_if(moving, [](const Pass& pass) { return pass.method != Pass::Method::kMoves; });
  if (moving.empty() || !merged) return;
  now_ = original;
  Pass folds = *std::ranges::max_element(moving, {}, &Pass::region_size);
  folds.method = Pass::Method::kFolds;
  if (!improve_until_settled(folds)) return;
  for (const Pass& pass : rung.turns) {
    improve_until_settled(pass);
    // The rest is for what may become the best.
    const bool is_best = same_structure(result_.best.front().graph, now_.graph);
    if (rung.is_race && !is_best) return;
  }
}

/// What a finder's plans make of a graph is the same whenever it is asked for.
Candidate Searcher::with_plans(Candidate from, std::span<const PlanFinder> finders) {
  crew_.rest();  // plans add rules, which nobody may read meanwhile
  bool improved = true;
  for (int round = 0; improved && round < kPlanRounds; ++round) {
    improved = false;
    for (const PlanFinder find : finders) {
      const auto [known, is_new] = planned_.try_emplace({from.graph.hash(), find});
      std::optional<Candidate>& better = known->second;
      if (is_new) {
        Candidate next = plans_.take(from, find(from.graph), stage_, [this] { return stopped(); });
        if (next.steps.size() > from.steps.size()) better = std::move(next);
      }
      if (!better) continue;
      from = *better;
      improved = true;
    }
  }
  work_when_idle();
  return from;
}

/// With these plans, whatever they cost.
Candidate Searcher::carried_out(const Candidate& from, PlanFinder find) {
  crew_.rest();  // plans add rules, which nobody may read meanwhile
  Candidate changed = plans_.carry_out(from, find(from.graph), stage_);
  work_when_idle();
  return changed;
}

namespace {

bool takes_more_sums(const Candidate& a, const Candidate& b) {
  const auto sums = [](const Candidate& candidate) {
    return std::ranges::count_if(candidate.steps, [](const Step& step) {
      return step.rule.starts_with(rules::kFactoredPrefix);
    });
  };
  return sums(a) > sums(b);
}

}  // namespace

/// With plans carried out: many steps that cost more until the last one is taken. One kind may hide
/// what the other finds, or what the passes find; what computes less is a start of its own.
void Searcher::go_on_from_plans(const Rung& rung, const Candidate& from) {
  static const std::vector<PlanFinder> kLess = {
      rules::find_mirrors,  rules::find_rows_of_cuts, rules::find_demand,
      rules::find_readings, rules::find_repetition,   rules::find_shared_operands};
  static const std::vector<PlanFinder> kOrders[] = {
      {rules::find_contractions, rules::find_moves, rules::find_moved_pads, rules::find_factors,
       rules::find_strided_products, rules::find_steps_of_products},
      {rules::find_windows, rules::find_linear_maps, rules::find_towers, rules::find_contractions,
       rules::find_moves, rules::find_moved_pads, rules::find_factors,
       rules::find_steps_of_products},
      {rules::find_strided_products, rules::find_towers, rules::find_windows,
       rules::find_linear_maps, rules::find_contractions, rules::find_moves, rules::find_moved_pads,
       rules::find_factors, rules::find_steps_of_products},
      {rules::find_passing_parts, rules::find_windows, rules::find_blocks, rules::find_linear_maps,
       rules::find_contractions, rules::find_moves, rules::find_moved_pads, rules::find_factors,
       rules::find_steps_of_products},
      {rules::find_scaled_products, rules::find_contractions, rules::find_moves,
       rules::find_moved_pads, rules::find_factors, rules::find_steps_of_products},
      {rules::find_windows, rules::find_affine_maps, rules::find_towers, rules::find_contractions,
       rules::find_moves, rules::find_moved_pads, rules::find_factors,
       rules::find_steps_of_products}};
  // Gone on from only where a sum is taken: the rest leads to what the others do.
  static const std::vector<PlanFinder> kSums = {
      rules::find_linear_maps,     rules::find_factored_sums,
      rules::find_scaled_products, rules::find_contractions,
      rules::find_moves,           rules::find_moved_pads,
      rules::find_factors,         rules::find_steps_of_products};
  if (!options_.admits_made) return;
  const Candidate once =
      carried_out(carried_out(from, rules::find_joined_reshapes), rules::find_common_nodes);
  const Candidate rows = carried_out(once, rules::find_flattened_rows);
  std::vector<Candidate> starts{
      once,
      with_plans(once, kLess),
      with_plans(rows, kLess),
      carried_out(carried_out(rows, rules::find_repetition), rules::find_shared_operands),
      carried_out(once, rules::find_flat_batches),
      carried_out(once, rules::find_shifted_joins),
      carried_out(once, rules::find_restored_cuts),
      carried_out(carried_out(carried_out(once, rules::find_offsets), rules::find_rows_of_products),
                  rules::find_joined_reshapes)};
  std::set<std::uint64_t> begun, seen{once.graph.hash()};
  const auto go_on = [&](Candidate with) {
    now_ = std::move(with);
    if (!seen.insert(now_.graph.hash()).second) return;
    remember(now_);
    improve_in_turns(rung);
  };
  for (const Candidate& start : starts) {
    if (!begun.insert(start.graph.hash()).second) continue;
    for (const std::vector<PlanFinder>& finders : kOrders) {
      if (stopped() || is_enough()) return;
      go_on(with_plans(start, finders));
    }
    if (stopped() || is_enough()) return;
    Candidate with = with_plans(start, kSums);
    if (takes_more_sums(with, start)) go_on(std::move(with));
  }
}

/// Linear maps hide terms of a sum in one batch, so sums are taken before them, too.
void Searcher::go_on_from_sums(const Rung& rung, const Candidate& from) {
  static const std::vector<PlanFinder> kSumsFirst = {
      rules::find_factored_sums,   rules::find_linear_maps,
      rules::find_scaled_products, rules::find_contractions,
      rules::find_moves,           rules::find_moved_pads,
      rules::find_factors,         rules::find_steps_of_products};
  if (!options_.admits_made || stopped() || is_enough()) return;
  const Candidate once = carried_out(from, rules::find_common_nodes);
  now_ = with_plans(once, kSumsFirst);
  if (!takes_more_sums(now_, once)) return;
  remember(now_);
  improve_in_turns(rung);
}

/// With what is written out as the operators that it is.
void Searcher::go_on_from_names(const Rung& rung, const Candidate& from) {
  static const std::vector<PlanFinder> kNames = {rules::find_named_functions};
  if (!options_.admits_made || stopped() || is_enough()) return;
  now_ = with_plans(from, kNames);
  if (now_.steps.size() == from.steps.size()) return;
  const Candidate named = now_;
  remember(named);
  improve_in_turns(rung);
  go_on_from_plans(rung, named);
}

/// Steps of linear recurrences, which these plans make longer before they make them shorter.
bool Searcher::go_on_from_joint_maps(const Rung& rung, const Candidate& from) {
  static const std::vector<PlanFinder> kOrder = {
      rules::find_joint_maps, rules::find_scaled_products, rules::find_contractions,
      rules::find_moves,      rules::find_factors,         rules::find_steps_of_products};
  if (!options_.admits_made || stopped() || is_enough()) return false;
  const Candidate once = carried_out(from, rules::find_common_nodes);
  const auto go_on = [&](const Candidate& start) {
    now_ = with_plans(start, kOrder);
    if (now_.graph.hash() == once.graph.hash()) return false;
    remember(now_);
    improve_in_turns(rung);
    return true;
  };
  // Maps of one tensor may pay only once those of the next one are made. In a large graph they are
  // many.
  constexpr std::size_t kMostNodesCarriedOut = 1000;
  go_on(once);
  if (once.graph.order().size() <= kMostNodesCarriedOut)
    go_on(carried_out(once, rules::find_maps_with_others));
  return !result_.best.empty() && !is_nearly_as_good(from, result_.best.front());
}

/// A merge that was a gain may hide a larger one: of operators behind parts of a product that run
/// with products of their own, of which only some are merged again.
void Searcher::undo_merges(const Rung& rung, const Candidate& from) {
  if (!options_.admits_made) return;
  const Candidate merged = from;  // the list of the best changes
  std::map<std::string, std::vector<rules::RewritePlan>> kinds;
  for (rules::RewritePlan& plan : rules::find_separation(merged.graph)) {
    std::string kind;
    for (const rules::PlanStep& step : plan.steps) kind += rules::rule_name(step.texts.back());
    kinds[kind].push_back(std::move(plan));
  }
  for (const auto& [ignored, plans] : kinds) {
    if (stopped() || is_enough()) return;
    crew_.rest();  // plans add rules, which nobody may read meanwhile
    const Candidate apart = plans_.carry_out(merged, plans, stage_);
    work_when_idle();
    if (apart.steps.size() == merged.steps.size()) continue;
    now_ = apart;
    remember(now_);
    improve_in_turns(rung);
    // Plans may yet make up for a dearer graph, but take long on a large one.
    const bool is_early = result_.work() - work_at_rung_ < work_of_rung_ / 4;
    if (is_early || is_nearly_as_good(now_, merged)) go_on_from_plans(rung, Candidate(now_));
  }
}

/// Of the best graph: what moves nothing costs nothing, and is seen by whoever reads the model.
void Searcher::leave_idle_moves_out() {
  if (result_.best.empty()) return;
  Candidate& best = result_.best.front();
  Candidate tidy = carried_out(best, rules::find_idle_moves);
  if (tidy.steps.size() > best.steps.size() && !objective_.is_better(best.score, tidy.score))
    best = std::move(tidy);
}

/// In turn from the best. What has been joined twice is joined at once.
void Searcher::take_turns(const Rung& rung) {
  static constexpr PlanFinder kLast[] = {rules::find_joined_joins, rules::find_large_maps,
                                         rules::find_steps_with_repeated_constants};
  if (!result_.best.empty()) {
    now_ = result_.best.front();
    now_.score = objective_.score(now_.graph, stage_);
  }
  for (bool improved = rung.turns.size() > 1; improved && !stopped() && !is_enough();) {
    improved = false;
    for (const Pass& pass : rung.turns) improved = improve_until_settled(pass) || improved;
  }
  if (!options_.admits_made || stopped()) return;
  const std::size_t steps = now_.steps.size();
  now_ = with_plans(now_, kLast);
  if (now_.steps.size() > steps) remember(now_);
  leave_idle_moves_out();
}

}  // namespace soapstone::search
