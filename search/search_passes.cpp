// Passes over the graph, see searcher.h.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "search/base/trace.h"
#include "search/regions/region.h"
#include "search/searcher.h"

namespace soapstone::search {
namespace {

std::vector<const Region*> pointers_to(const std::vector<Region>& regions) {
  std::vector<const Region*> pointers;
  for (const Region& region : regions) pointers.push_back(&region);
  return pointers;
}

}  // namespace

std::vector<Region> Searcher::regions_of(std::size_t region_size) {
  const auto parts = cover(now_.graph, region_size, options_.behind_opaque);
  const ops::SpecialValues specials = specials_.again(now_.graph);
  std::vector<Region> regions(parts.size());
  crew_.each(parts.size(), [&](std::size_t k) {
    if (!stopped()) regions[k] = extract_region(now_.graph, parts[k], specials);
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
  // Proposals of regions may be faster by larger weights alone, more of them than the whole may
  // have.
  const bool may_grow = !objective_.weight_limit().has_refused() || stage_.lower_peak;
  if (!may_grow && std::ranges::find(stage_.guides, Guide::kLatencyNoGrowth) == stage_.guides.end())
    for (const Guide guide : {Guide::kLatencyAtGrowth, Guide::kLatencyNoGrowth})
      stage_.guides.push_back(guide);
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
  std::vector<const Region*> to_search = pointers_to(regions);
  if (is_for_growth(way.guide)) {
    const std::size_t most =
        way.guide == Guide::kLatencyAtGrowth ? objective_.weight_limit().most_growth() : 0;
    std::erase_if(to_search, [&](const Region* region) {
      return growth_of(*region, pass.moves(Guide::kLatency)) <= most;
    });
  }
  const bool is_all = search_new(to_search, pass, way);
  std::vector<Site> sites;
  for (const Region* region : to_search) {
    const RegionResult* found = kinds_.find(*region, way);
    if (found != nullptr && !found->steps.empty()) sites.push_back({region, found});
  }
  return apply(std::move(sites)) || (!is_all && !stopped());
}

/// By how much the weights of a region grow in what was found there; 0 if nothing was.
std::size_t Searcher::growth_of(const Region& region, const Way& way) {
  const RegionResult* const found = kinds_.find(region, way);
  if (found == nullptr || found->steps.empty()) return 0;
  const auto [known, is_new] = growth_.try_emplace(found, 0);
  if (is_new) {
    const WeightLimit& limit = objective_.weight_limit();
    const std::size_t before = limit.bytes_of_part(region.graph);
    const std::size_t after = limit.bytes_of_part(graph_behind(region.graph, rules_, found->steps));
    known->second = after > before ? after - before : 0;
  }
  return known->second;
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
  tell_of_gain(now_.score);
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

/// In turn from the best.
void Searcher::take_turns(const Rung& rung) {
  if (!result_.best.empty()) {
    now_ = result_.best.front();
    now_.score = objective_.score(now_.graph, stage_);
  }
  for (bool improved = rung.turns.size() > 1; improved && !stopped() && !is_enough();) {
    improved = false;
    for (const Pass& pass : rung.turns) improved = improve_until_settled(pass) || improved;
  }
}

}  // namespace soapstone::search
