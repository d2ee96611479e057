// See eqsat.h.
#include "search/saturation/eqsat.h"

#include <algorithm>
#include <set>

#include "rules/matching/match_at.h"
#include "search/base/real_gain.h"
#include "search/proofs/derivation.h"
#include "search/proofs/lemma.h"
#include "search/saturation/eqsat_bound.h"
#include "search/saturation/eqsat_selection.h"
#include "search/saturation/lower_bound.h"
#include "search/saturation/weights_as_inputs.h"

namespace soapstone::search {
namespace {

using core::Graph;
using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

/// Cheaper and cheaper selections of one e-graph.
class Selections {
 public:
  Selections(const EqsatProblem& problem, const WeightsAsInputs& parts, const Graph& region,
             cost::CostModel& model, cost::CostModel& guide, const std::function<bool()>& stopped)
      : problem_(problem), parts_(parts), region_(region), model_(model),
        costs_(problem.graph, guide, stopped), stopped_(stopped) {}

  void run(const EqsatLimits& limits) {
    const Selection given = given_selection(problem_);
    consider(given);
    if (stopped_()) return;  // perhaps without all prices
    guide(given);
    improve(best_);
    // An e-node may pay only if several classes share it. So start again from the assumption that
    // all that might share do.
    const Selection shared = greedy_selection(problem_, costs_, given, Sharing::kPossible);
    consider(shared);
    improve(shared);
    guide(shared);
    if (!model_.is_monotone()) return;
    bound_us_ = lower_bound(problem_, costs_, limits.bound_rounds);
    if (count_operators(region_) <= limits.exact_operators) prove(limits.exact_steps);
    bound_us_ = std::min(bound_us_, best_us_);
  }

  const Selection& best() const { return best_; }
  double best_us() const { return best_us_; }
  double bound_us() const { return bound_us_; }
  /// Nothing in the e-graph is cheaper.
  bool is_optimal() const { return optimal_ || bound_us_ >= best_us_ * kRealGain; }

 private:
  static std::size_t count_operators(const Graph& graph) {
    return static_cast<std::size_t>(std::ranges::count_if(
        graph.order(), [&](core::NodeId id) { return !graph.is_constant_expression(id); }));
  }

  double cost_of(const Selection& selection) {
    return model_.graph_cost(with_weights(to_graph(problem_, selection), parts_, region_)).total_us;
  }

  /// Whether it is the cheapest so far, by the cost model.
  bool consider(const Selection& selection) {
    if (!needed_classes(problem_, selection)) return false;
    const double cost = cost_of(selection);
    if (!best_.empty() && cost >= best_us_ * kRealGain) return false;
    best_ = selection;
    best_us_ = cost;
    return true;
  }

  /// Improves the selection in rounds. An e-node costs a class less if others share it, and who
  /// shares depends on the selection of the round before.
  void guide(Selection selection) {
    constexpr int kRounds = 6;
    for (int round = 0; round < kRounds && !stopped_(); ++round) {
      Selection next = greedy_selection(problem_, costs_, selection);
      if (next == selection) break;
      selection = std::move(next);
      consider(selection);
    }
  }

  /// Takes other e-nodes for single classes, or for all results that an e-node has, while that
  /// helps.
  void improve(const Selection& start) {
    constexpr std::size_t kClassesLookedAt = 1'000'000;  // classes looked at
    constexpr std::size_t kPasses = 8;
    if (!needed_classes(problem_, start)) return;
    Selection selection = completed(start);
    auto needed = *needed_classes(problem_, selection);
    double estimate = estimate_of(problem_, costs_, selection, needed);
    std::size_t work = 0;
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      bool changed = false;
      const std::vector<ClassId> at_first = needed;
      for (ClassId id : at_first) {
        for (ENodeId node : problem_.graph[id].nodes) {
          if (node == selection[id.index()]) continue;
          if (stopped_() || (work += needed.size()) > kClassesLookedAt) return;
          Selection other = with(selection, id, node, needed);
          auto needs = needed_classes(problem_, other);
          if (!needs) continue;
          const double cost = estimate_of(problem_, costs_, other, *needs);
          if (cost >= estimate - kStep) continue;
          selection = std::move(other);
          needed = *std::move(needs);
          estimate = cost;
          changed = true;
        }
      }
      consider(selection);
      if (!changed) return;
    }
  }

  /// With a choice for every class.
  Selection completed(const Selection& selection) const {
    Selection all = greedy_selection(problem_, costs_, selection);
    // Only what is needed is taken over: the rest might be circular with it.
    const auto needed = needed_classes(problem_, selection);
    for (ClassId id : *needed) all[id.index()] = selection[id.index()];
    return all;
  }

  Selection with(const Selection& selection, ClassId id, ENodeId node,
                 const std::vector<ClassId>& needed) const {
    Selection other = selection;
    other[id.index()] = node;
    const auto results = problem_.graph.results(node);
    if (results.size() > 1)
      for (ClassId result : results) {
        const ClassId of = problem_.graph.find(result);
        if (std::ranges::find(needed, of) != needed.end()) other[of.index()] = node;
      }
    return other;
  }

  void prove(std::uint64_t max_steps) {
    const std::function<double(const Selection&)> cost = [&](const Selection& selection) {
      return needed_classes(problem_, selection) ? cost_of(selection) : best_us_;
    };
    const BranchAndBound found =
        branch_and_bound(problem_, costs_, best_us_, max_steps, cost, stopped_);
    if (!found.best.empty()) consider(found.best);
    optimal_ = found.complete;
    if (optimal_) bound_us_ = best_us_;
  }

  static constexpr double kStep = 1e-7;

  const EqsatProblem& problem_;
  const WeightsAsInputs& parts_;
  const Graph& region_;
  cost::CostModel& model_;
  ENodeCosts costs_;
  const std::function<bool()>& stopped_;
  Selection best_;
  double best_us_ = 0, bound_us_ = 0;
  bool optimal_ = false;
};

/// One region, from its graph to a result.
class RegionSaturation {
 public:
  RegionSaturation(const Graph& region, verifier::Admission& rules,
                   const rules::SaturationRules& prepared, cost::CostModel& cost,
                   cost::CostModel& guide, const std::function<bool()>& stopped, bool has_specials)
      : region_(region), rules_(rules), prepared_(prepared), cost_(cost), guide_(guide),
        stopped_(stopped), specials_{has_specials, has_specials},
        parts_(weights_as_inputs(region)), problem_{graph_, parts_.graph, {}, {}} {}

  RegionResult run(const EqsatLimits& limits) {
    add_region();
    RegionResult result;
    result.cost_before_us = result.cost_after_us = cost_.graph_cost(region_).total_us;
    const bool saturated = saturate(limits.saturation);
    result.e_nodes = graph_.node_count();
    Selections extraction(problem_, parts_, region_, cost_, guide_, stopped_);
    extraction.run(limits);
    result.bound_us = extraction.bound_us();
    result.cheapest_kept = extraction.is_optimal() && cost_.is_monotone();
    result.optimal = saturated && result.cheapest_kept;
    result.stop = stopped_()       ? RegionStop::kStopped
                  : result.optimal ? RegionStop::kExhausted
                                   : RegionStop::kBudget;
    if (extraction.best_us() < result.cost_before_us * kRealGain)
      note_gain(extraction.best(), extraction.best_us(), result);
    return result;
  }

 private:
  void add_region() {
    const Graph& model = parts_.graph;
    for (std::size_t k = 0; k < model.inputs().size(); ++k)
      problem_.inputs.push_back(graph_.add_input(static_cast<std::uint32_t>(k),
                                                 model.tensor(model.inputs()[k]).type,
                                                 parts_.is_weight[k]));
    const auto classes = graph_.add_graph(model, problem_.inputs);
    for (core::TensorId id : model.outputs()) problem_.outputs.push_back(classes[id.index()]);
    for (core::TensorId id : numbered_tensors(model)) given_.push_back(classes[id.index()]);
  }

  /// True: everything that the rules lead to is there.
  bool saturate(const rules::SaturationLimits& limits) {
    const rules::SaturationGoal goal = [&](const EGraph&) { return stopped_(); };
    const rules::SaturationFilter admits =
        [&](std::uint32_t rule, std::span<const std::int64_t> sizes, core::DataType float_type) {
          rules::Match match;
          match.sizes.assign(sizes.begin(), sizes.end());
          match.float_type = float_type;
          return rules_.admits(core::RuleId(rule), match, verifier::RuleUse::kBothWays, specials_);
        };
    const auto report =
        rules::saturate(graph_, prepared_, limits, goal, core::StopToken(), admits, &log_);
    return report.end == rules::SaturationEnd::kSaturated;
  }

  /// Makes a lemma of the best selection. A result that cannot be derived again, or not be written
  /// as text, is not used.
  void note_gain(const Selection& best, double cost_us, RegionResult& result) {
    const Graph target = to_graph(problem_, best);
    std::vector<ENodeId> chosen;
    const auto needed = needed_classes(problem_, best);
    for (ClassId id : *needed) chosen.push_back(best[id.index()]);
    auto steps = derive(parts_.graph, target, {graph_, given_, log_}, chosen, rules_, stopped_);
    if (!steps && stopped_()) return;
    if (!steps) return lose(result);
    auto rule = lemma_rule("equality_saturation", parts_.graph, target, parts_.is_weight);
    if (!rule) return lose(result);
    const auto match = rules::match_at(region_, *rule, parts_.nodes, parts_.inputs);
    if (!match) return lose(result);
    const auto rewritten = rules::apply(region_, *rule, *match);
    if (!rewritten) return lose(result);
    const auto lemma = std::make_shared<const Lemma>(Lemma{*std::move(rule), *std::move(steps)});
    if (!is_derived(*lemma, rules_)) return lose(result);
    result.steps.push_back({{core::RuleId::none(), *match},
                            lemma,
                            result.cost_before_us - cost_us,
                            rewritten->node_bound(),
                            rewritten->tensor_bound()});
    result.cost_after_us = cost_us;
  }

  static void lose(RegionResult& result) {
    result.optimal = result.cheapest_kept = false;
    if (result.stop == RegionStop::kExhausted) result.stop = RegionStop::kBudget;
    result.lost = true;
  }

  const Graph& region_;
  verifier::Admission& rules_;
  const rules::SaturationRules& prepared_;
  cost::CostModel& cost_;
  cost::CostModel& guide_;
  const std::function<bool()>& stopped_;
  verifier::SpecialsAt specials_;
  WeightsAsInputs parts_;
  EGraph graph_;
  EqsatProblem problem_;
  std::vector<ClassId> given_;  // by number of the tensor
  std::vector<rules::Application> log_;
};

}  // namespace

RegionResult saturate_region(const Graph& graph, verifier::Admission& rules,
                             const rules::SaturationRules& prepared, cost::CostModel& cost,
                             cost::CostModel& guide, const EqsatLimits& limits,
                             const std::function<bool()>& stopped, bool has_specials) {
  CHECK(prepared.size() <= rules.rules().rules().size(), "rules of another set");
  return RegionSaturation(graph, rules, prepared, cost, guide, stopped, has_specials).run(limits);
}

}  // namespace soapstone::search
