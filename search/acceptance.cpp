// At their borders regions may disagree with the whole graph about what is fused, and together they
// may close a cycle: so the whole graph's cost decides what is kept.
#include <algorithm>
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
  Acceptance(const rules::RuleSet& rules, cost::CostModel& cost, Candidate& now)
      : rules_(rules), cost_(cost), now_(now) {}

  /// Regions of one kind, which are neighbours in the list, promise what the first of them gave.
  void accept(std::span<const Site> sites) {
    if (sites.empty()) return;
    double promised_us = 0;
    for (const Site& site : sites) promised_us += site.found->gain_us();
    if (attempt(sites, promised_us) > 0 || sites.size() == 1) return;
    const auto other = std::ranges::find_if(
        sites, [&](const Site& site) { return site.found != sites.front().found; });
    const auto same = static_cast<std::size_t>(other - sites.begin());
    if (same < sites.size()) {
      accept(sites.first(same));
      accept(sites.subspan(same));
      return;
    }
    const double first_us = attempt(sites.first(1), 0);
    const auto rest = sites.subspan(1);
    if (first_us > 0 && attempt(rest, first_us * static_cast<double>(rest.size())) > 0) return;
    accept(rest.first(rest.size() / 2));
    accept(rest.subspan(rest.size() / 2));
  }

 private:
  /// Applies all of them if the whole graph gains what was promised; a single one if it gains at
  /// all. The gain, or 0.
  double attempt(std::span<const Site> sites, double promised_us) {
    std::vector<Step> steps = steps_on(now_.graph, sites, rules_);
    std::vector<rules::Rewrite> rewrites;
    rewrites.reserve(steps.size());
    double steps_us = 0;
    for (const Step& step : steps) {
      rewrites.push_back({step.id, step.match});
      steps_us += step.gain_us;
    }
    auto graph = rules::apply_all(now_.graph, rules_, rewrites);
    if (!graph) return 0;
    const double cost_us = cost_.graph_cost(*graph).total_us;
    const double gain_us = now_.cost_us - cost_us;
    if (cost_us >= kRealGain * now_.cost_us) return 0;
    if (sites.size() > 1 && gain_us < kKeptPromise * promised_us) return 0;
    steps.back().gain_us += gain_us - steps_us;
    now_.graph = *std::move(graph);
    now_.cost_us = cost_us;
    std::ranges::move(steps, std::back_inserter(now_.steps));
    return gain_us;
  }

  const rules::RuleSet& rules_;
  cost::CostModel& cost_;
  Candidate& now_;
};

}  // namespace

void apply_where_it_gains(std::span<const Site> sites, const rules::RuleSet& rules,
                          cost::CostModel& cost, Candidate& now) {
  Acceptance acceptance(rules, cost, now);
  for (std::size_t at = 0; at < sites.size(); at += kGroup)
    acceptance.accept(sites.subspan(at, std::min(kGroup, sites.size() - at)));
}

}  // namespace soapstone::search
