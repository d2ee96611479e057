// At their borders regions may disagree with the whole graph about what is fused, and together they
// may close a cycle: so the whole graph's cost decides what is kept.
#include <algorithm>
#include <map>
#include <utility>

#include "search/improvement.h"

namespace soapstone::search {
namespace {

/// Sites that are applied before the graph is finished once.
constexpr std::size_t kGroup = 128;
/// Less of a cost is rounding and no gain.
constexpr double kRealGain = 1 - 1e-6;
/// Several improvements are believed together if they give that share of what regions promised.
constexpr double kKeptPromise = 0.9;

class Acceptance {
 public:
  Acceptance(const rules::RuleSet& rules, cost::CostModel& cost,
             const std::function<bool()>& stopped, Candidate& now)
      : rules_(rules), cost_(cost), stopped_(stopped), now_(now) {}

  /// Regions of one kind, which are neighbours in the list, promise what the first of them gave.
  void accept(std::span<const Site> sites) {
    if (sites.empty() || attempt(sites) || sites.size() == 1 || stopped_()) return;
    const auto other = std::ranges::find_if(
        sites, [&](const Site& site) { return site.found != sites.front().found; });
    const auto same = static_cast<std::size_t>(other - sites.begin());
    if (same < sites.size()) {
      accept(sites.first(same));
      accept(sites.subspan(same));
      return;
    }
    const double before_us = now_.cost_us;
    if (attempt(sites.first(1))) given_us_[sites.front().found] = before_us - now_.cost_us;
    const auto rest = sites.subspan(1);
    if (attempt(rest) || stopped_()) return;
    accept(rest.first(rest.size() / 2));
    accept(rest.subspan(rest.size() / 2));
  }

 private:
  double promise_us(const Site& site) const {
    const auto given = given_us_.find(site.found);
    return given == given_us_.end() ? site.found->gain_us() : given->second;
  }

  /// Applies all of them if the whole graph gains what was promised; a single one if it gains at
  /// all.
  bool attempt(std::span<const Site> sites) {
    double promised_us = 0;
    for (const Site& site : sites) promised_us += promise_us(site);
    std::vector<Step> steps = steps_on(now_.graph, sites, rules_);
    std::vector<rules::Rewrite> rewrites;
    rewrites.reserve(steps.size());
    double steps_us = 0;
    for (const Step& step : steps) {
      rewrites.push_back({step.id, step.match});
      steps_us += step.gain_us;
    }
    auto graph = rules::apply_all(now_.graph, rules_, rewrites);
    if (!graph) return false;
    const double cost_us = cost_.graph_cost(*graph).total_us;
    const double gain_us = now_.cost_us - cost_us;
    if (cost_us >= kRealGain * now_.cost_us) return false;
    if (sites.size() > 1 && gain_us < kKeptPromise * promised_us) return false;
    settle(sites, gain_us - steps_us, steps);
    now_.graph = *std::move(graph);
    now_.cost_us = cost_us;
    std::ranges::move(steps, std::back_inserter(now_.steps));
    return true;
  }

  /// What the whole gives beyond the promises is divided among the sites' last steps.
  static void settle(std::span<const Site> sites, double surplus_us, std::vector<Step>& steps) {
    std::size_t end = 0;
    for (const Site& site : sites) {
      end += site.found->steps.size();
      steps[end - 1].gain_us += surplus_us / static_cast<double>(sites.size());
    }
  }

  const rules::RuleSet& rules_;
  cost::CostModel& cost_;
  const std::function<bool()>& stopped_;
  Candidate& now_;
  std::map<const RegionResult*, double> given_us_;  ///< Where it is not what the region promised.
};

}  // namespace

void apply_where_it_gains(std::span<const Site> sites, const rules::RuleSet& rules,
                          cost::CostModel& cost, const std::function<bool()>& stopped,
                          Candidate& now) {
  Acceptance acceptance(rules, cost, stopped, now);
  for (std::size_t at = 0; at < sites.size() && (at == 0 || !stopped()); at += kGroup)
    acceptance.accept(sites.subspan(at, std::min(kGroup, sites.size() - at)));
}

}  // namespace soapstone::search
