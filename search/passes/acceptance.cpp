// At their borders regions may disagree with the whole graph about what is fused, and together they
// may close a cycle: so the whole graph's cost decides what is kept.
#include <algorithm>
#include <map>
#include <utility>

#include "search/base/real_gain.h"
#include "search/passes/improvement.h"

namespace soapstone::search {
namespace {

/// Sites that are applied before the graph is finished once.
constexpr std::size_t kGroup = 128;
/// A group of rewrites is accepted if the whole graph gains at least this fraction of the sum of
/// the regions' predicted gains.
constexpr double kKeptPromise = 0.9;

/// Nodes of whole graphs to build for sites of one kind that come to nothing, one after the other;
/// on a graph of a thousand nodes that is a thousand sites, on a huge one the first few dozen.
constexpr std::size_t kMostInVain = std::size_t{1} << 20;

class Acceptance {
 public:
  Acceptance(const rules::RuleSet& rules, const Objective& objective, const ObjectiveStage& stage,
             const std::function<bool()>& stopped, Candidate& now)
      : rules_(rules), objective_(objective), stage_(stage), stopped_(stopped), now_(now) {}

  /// Regions of one kind, which are neighbors in the list, promise what the first of them gave.
  void accept(std::span<const Site> sites) {
    if (sites.empty()) return;
    const RegionResult* kind = sites.front().found;
    const auto other =
        std::ranges::find_if(sites, [&](const Site& site) { return site.found != kind; });
    const auto same = static_cast<std::size_t>(other - sites.begin());
    const bool one_kind = same == sites.size();
    if ((one_kind && in_vain_[kind] > kMostInVain) || attempt(sites)) return;
    if (sites.size() == 1) in_vain_[kind] += now_.graph.order().size();
    if (sites.size() == 1 || stopped_()) return;
    if (!one_kind) {
      accept(sites.first(same));
      accept(sites.subspan(same));
      return;
    }
    const double before_us = now_.cost_us;
    if (attempt(sites.first(1))) {
      given_us_[kind] = before_us - now_.cost_us;
      in_vain_[kind] = 0;
    } else {
      in_vain_[kind] += now_.graph.order().size();
    }
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
    if (!std::ranges::all_of(steps, [&](const Step& step) { return is_there(step.match); }))
      return false;
    std::vector<rules::RewriteBy> rewrites;
    rewrites.reserve(steps.size());
    double steps_us = 0;
    for (const Step& step : steps) {
      rewrites.push_back({step.rewriting(rules_), step.match});
      steps_us += step.gain_us;
    }
    auto graph = rules::apply_all(now_.graph, rewrites);
    if (!graph) return false;
    const Score score = objective_.score(*graph, stage_);
    const double gain_us = now_.cost_us - score.latency_us;
    if (!objective_.is_gain(now_.score, score, stage_)) return false;
    // A peak is no sum, so nobody promised one.
    if (!stage_.lower_peak && sites.size() > 1 && gain_us < kKeptPromise * promised_us)
      return false;
    settle(sites, gain_us - steps_us, steps);
    now_.graph = *std::move(graph);
    now_.cost_us = score.latency_us;
    now_.score = score;
    append_steps(now_.steps, std::move(steps));
    return true;
  }

  /// Sites that were accepted before may have left nothing that reads what this one rewrites.
  /// Larger ids are those of nodes that earlier steps make.
  bool is_there(const rules::Match& match) const {
    const core::Graph& graph = now_.graph;
    const auto are_there = [&](const auto& ids, std::size_t bound) {
      return std::ranges::all_of(
          ids, [&](auto id) { return !id.valid() || id.index() >= bound || graph.contains(id); });
    };
    return are_there(match.nodes, graph.node_bound()) &&
           are_there(match.inputs, graph.tensor_bound()) &&
           are_there(match.outputs, graph.tensor_bound());
  }

  /// Divides the difference between the whole graph's gain and the predicted gains among the sites'
  /// last steps.
  static void settle(std::span<const Site> sites, double surplus_us, std::vector<Step>& steps) {
    std::size_t end = 0;
    for (const Site& site : sites) {
      end += site.found->steps.size();
      steps[end - 1].gain_us += surplus_us / static_cast<double>(sites.size());
    }
  }

  const rules::RuleSet& rules_;
  const Objective& objective_;
  const ObjectiveStage& stage_;
  const std::function<bool()>& stopped_;
  Candidate& now_;
  std::map<const RegionResult*, double> given_us_;  ///< Real gains that differ from predictions.
  std::map<const RegionResult*, std::size_t> in_vain_;
};

}  // namespace

void apply_where_it_gains(std::span<const Site> sites, const rules::RuleSet& rules,
                          const Objective& objective, const ObjectiveStage& stage,
                          const std::function<bool()>& stopped, Candidate& now) {
  Acceptance acceptance(rules, objective, stage, stopped, now);
  for (std::size_t at = 0; at < sites.size() && (at == 0 || !stopped()); at += kGroup)
    acceptance.accept(sites.subspan(at, std::min(kGroup, sites.size() - at)));
}

}  // namespace soapstone::search
