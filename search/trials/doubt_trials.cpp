// The second opinion is cruder than the cost model, so that it is asked only which rules are worth
// a doubt; whether they are is seen in the runtime.
#include "search/trials/doubt_trials.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "ops/composites/composite.h"
#include "rules/matching/rewrite.h"
#include "search/base/real_gain.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::RuleId;

/// Nodes of graphs to build for matches, and those matches, at most.
constexpr std::size_t kMostNodesBuilt = std::size_t{1} << 18, kMostMatches = 512;
/// A smaller gain, as a share of the graph's cost, would not be seen in the runtime.
constexpr double kWorthADoubt = 0.01;
/// Rules of which the cost model is asked; it may have to measure for it.
constexpr std::size_t kMostAsked = 6;
/// A change that is foretold to be slower by more than this factor is not in doubt.
constexpr double kMostLoss = 3;

/// A match of every rule and of every list of sizes that it matches.
std::vector<std::pair<RuleId, rules::Match>> unlike_matches(const Graph& graph,
                                                            const verifier::Admission& rules,
                                                            const std::set<std::string>& without) {
  const std::size_t most =
      std::min(kMostMatches, kMostNodesBuilt / std::max<std::size_t>(graph.order().size(), 1));
  std::vector<std::pair<RuleId, rules::Match>> found;
  std::set<std::uint64_t> met;
  rules.rules().for_each_match(graph, [&](RuleId id, const rules::Match& match) {
    if (rules.is_excluded(id) || without.contains(rules.rules()[id].base_name)) return true;
    std::uint64_t hash = core::hash_combine(0x646f756274, id.value);
    for (const std::int64_t size : match.sizes)
      hash = core::hash_combine(hash, static_cast<std::uint64_t>(size));
    if (met.insert(hash).second) found.emplace_back(id, match);
    return found.size() < most;
  });
  return found;
}

double cost_of(const Graph& graph, cost::CostModel& cost) {
  return cost.graph_cost(ops::expanded(merge_duplicates(graph))).total_us;
}

/// Keeps what the rule makes of the graph if it is faster there, beyond noise. False: an interrupt
/// came first.
bool try_one(Trial& trial, FormUse used, TrialClock& clock, double budget_s,
             const core::StopToken& stop, TrialReport& report, Replayed& now) {
  const auto compared =
      clock.compare(merge_duplicates(now.graph), merge_duplicates(used.graph), budget_s, stop);
  if (stop.stop_requested()) return false;
  if (!compared) {
    trial.verdict = Verdict::kNotMeasurable;
    trial.note = compared.error().message;
    if (compared.error().code == core::ErrorCode::kUnavailable) report.given_up = trial.note;
  } else {
    trial.measured = compared->ratio;
    if (trial.measured.low > 1) {
      trial.verdict = Verdict::kKept;
      append_steps(now.steps, std::move(used.steps));
      now.graph = std::move(used.graph);
    }
  }
  report.trials.push_back(trial);
  return true;
}

}  // namespace

std::unique_ptr<cost::CostModel> make_second_opinion() {
  return cost::make_roofline_cost(runtime::Fusion::kNone,
                                  {.launch_us = 2, .flops_per_s = 5e10, .bytes_per_s = 1e10});
}

std::vector<std::string> rules_of_gain(const Graph& graph, const verifier::Admission& rules,
                                       cost::CostModel& opinion,
                                       const std::set<std::string>& without,
                                       const core::StopToken& stop) {
  const double before_us = opinion.graph_cost(graph).total_us;
  std::map<std::string, double> gains;
  for (const auto& [id, match] : unlike_matches(graph, rules, without)) {
    if (stop.stop_requested()) return {};
    const auto after = rules::apply(graph, rules.rules()[id], match);
    if (!after) continue;
    const double gain_us = -opinion.cost_change_us(graph, *after).value_or(0);
    if (gain_us < kWorthADoubt * before_us) continue;
    double& most_us = gains[rules.rules()[id].base_name];
    most_us = std::max(most_us, gain_us);
  }
  std::vector<std::pair<std::string, double>> sorted(gains.begin(), gains.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, double>::second);
  std::vector<std::string> names;
  for (auto& [name, gain] : sorted) names.push_back(std::move(name));
  return names;
}

void try_doubts(const std::vector<std::string>& names, const DoubtContext& context,
                TrialClock& clock, const TrialOptions& options, core::ProgressSink& progress,
                const core::StopToken& stop, TrialReport& report, Replayed& now) {
  const double cpu_before_s = core::process_cpu_s(), wall_before_s = core::wall_s();
  const auto is_over = [&] {
    return stop.stop_requested() || !report.given_up.empty() ||
           report.trials.size() >= static_cast<std::size_t>(options.most) ||
           report.wall_s + core::wall_s() - wall_before_s >= options.time_s;
  };
  std::size_t asked = 0, tried = 0;
  for (const std::string& name : names) {
    if (is_over() || tried == kMostDoubts || asked++ == kMostAsked) break;
    const Forms forms(context.rules, {name}, context.behind_opaque,
                      ops::SpecialValues(now.graph, context.surroundings));
    if (forms.count() == 0) continue;
    FormUse used = forms.use(now.graph, 0);
    if (used.steps.empty() || !options.weight_limit.allows(used.graph)) continue;
    if (context.may_be_result && !context.may_be_result(used)) continue;
    const double predicted = cost_of(now.graph, context.cost) / cost_of(used.graph, context.cost);
    if (predicted * kRealGain > 1 || predicted * kMostLoss < 1) continue;
    ++tried;
    Trial trial{name, used.steps.size(), predicted, {}, Verdict::kLeftOut, {}, true};
    if (!try_one(trial, std::move(used), clock, options.least_s, stop, report, now)) break;
    progress.update(
        report.trials.size(), report.trials.size(),
        fmt::format("{} {}, {:.3f}x", trial.what, to_string(trial.verdict), trial.measured.median));
  }
  report.cpu_s += core::process_cpu_s() - cpu_before_s;
  report.wall_s += core::wall_s() - wall_before_s;
}

}  // namespace soapstone::search
