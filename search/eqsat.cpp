// See eqsat.h.
#include "search/eqsat.h"

#include "core/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <set>

#include "search/eqsat_bound.h"
#include "search/eqsat_selection.h"

namespace soapstone::search {
namespace {

using core::Graph;
using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

/// Below this share of the cost of the original a graph counts as better: rounding is no gain.
constexpr double kRealGain = 1 - 1e-6;

/// Cheaper and cheaper selections of one e-graph.
class Extraction {
 public:
  Extraction(const EqsatProblem& problem, cost::CostModel& model, const core::StopToken& stop)
      : problem_(problem), model_(model), costs_(problem.graph, model), stop_(stop) {}

  void run(const EqsatOptions& options) {
    const Selection given = given_selection(problem_);
    consider(given);
    guide(given);
    improve(best_);
    // What pays only if several classes share it is seen from the other end.
    const Selection shared = greedy_selection(problem_, costs_, given, Sharing::kPossible);
    consider(shared);
    improve(shared);
    guide(shared);
    bound_us_ = lower_bound(problem_, costs_);
    if (count_operators(problem_.model) <= options.exact_operators) prove(options.exact_steps);
    bound_us_ = std::min(bound_us_, best_us_);
  }

  const Selection& best() const { return best_; }
  double best_us() const { return best_us_; }
  double bound_us() const { return bound_us_; }
  bool is_optimal() const { return optimal_ || bound_us_ >= best_us_ * kRealGain; }

 private:
  static std::size_t count_operators(const Graph& graph) {
    return static_cast<std::size_t>(std::ranges::count_if(
        graph.order(), [&](core::NodeId id) { return !graph.is_constant_expression(id); }));
  }

  double cost_of(const Selection& selection) {
    return model_.graph_cost(to_graph(problem_, selection)).total_us;
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

  /// What several classes share costs each of them less; who shares what depends on what is chosen.
  void guide(Selection selection) {
    constexpr int kRounds = 6;
    for (int round = 0; round < kRounds && !stop_.stop_requested(); ++round) {
      Selection next = greedy_selection(problem_, costs_, selection);
      if (next == selection) break;
      selection = std::move(next);
      consider(selection);
    }
  }

  /// Takes other e-nodes for single classes, or for all results that an e-node has, while that
  /// helps.
  void improve(const Selection& start) {
    constexpr std::size_t kWork = 20'000'000;  // classes looked at
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
          if (stop_.stop_requested() || (work += needed.size()) > kWork) return;
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
        branch_and_bound(problem_, costs_, best_us_, max_steps, cost, stop_);
    if (!found.best.empty()) consider(found.best);
    optimal_ = found.complete;
    if (optimal_) bound_us_ = best_us_;
  }

  static constexpr double kStep = 1e-7;

  const EqsatProblem& problem_;
  cost::CostModel& model_;
  ENodeCosts costs_;
  const core::StopToken& stop_;
  Selection best_;
  double best_us_ = 0, bound_us_ = 0;
  bool optimal_ = false;
};

/// The rules that made the e-nodes of a selection.
std::vector<EqsatRule> makers_of(const EqsatProblem& problem, const Selection& selection,
                                 const rules::SaturationRules& rules) {
  std::set<ENodeId> nodes;
  const auto needed = needed_classes(problem, selection);
  for (ClassId id : *needed) nodes.insert(selection[id.index()]);
  std::map<std::string, std::size_t> counts;
  for (ENodeId id : nodes)
    if (problem.graph.maker(id) != EGraph::kGiven)
      ++counts[rules[problem.graph.maker(id)].rule.base_name];
  std::vector<EqsatRule> makers;
  for (const auto& [name, count] : counts) makers.push_back({name, count});
  std::ranges::stable_sort(makers, std::ranges::greater(), &EqsatRule::operators);
  return makers;
}

/// Puts the model into the e-graph.
EqsatProblem problem_of(EGraph& graph, const Graph& model) {
  EqsatProblem problem{graph, model, {}, {}};
  for (core::TensorId id : model.inputs())
    problem.inputs.push_back(
        graph.add_input(static_cast<std::uint32_t>(problem.inputs.size()), model.tensor(id).type));
  const auto classes = graph.add_graph(model, problem.inputs);
  for (core::TensorId id : model.outputs()) problem.outputs.push_back(classes[id.index()]);
  return problem;
}

}  // namespace

EqsatResult eqsat(const Graph& original, verifier::Admission& rules, cost::CostModel& cost,
                  const EqsatOptions& options, core::ProgressSink& progress,
                  const core::StopToken& stop) {
  const double cpu_before = core::process_cpu_s(), wall_before = core::wall_s();
  EqsatResult result;
  const rules::SaturationRules prepared(rules.rules().rules());
  CHECK(prepared.size() == rules.rules().rules().size(),
        "a rule that graphs match but e-graphs not");
  EGraph graph;
  const EqsatProblem problem = problem_of(graph, original);
  const rules::SaturationGoal goal = [&](const EGraph& now) {
    progress.update(now.node_count(), options.saturation.nodes,
                    fmt::format("{} classes", now.class_count()));
    return options.time_s > 0 && core::wall_s() - wall_before > options.time_s;
  };
  const rules::SaturationFilter admits = [&](std::uint32_t rule,
                                             std::span<const std::int64_t> sizes) {
    rules::Match match;
    match.sizes.assign(sizes.begin(), sizes.end());
    return rules.admits(core::RuleId(rule), match);
  };
  result.saturation = saturate(graph, prepared, options.saturation, goal, stop, admits);
  result.cost_before = result.cost_after = cost.graph_cost(original);
  progress.stage("extracting");
  Extraction extraction(problem, cost, stop);
  extraction.run(options);
  result.bound_us = extraction.bound_us();
  result.optimal = extraction.is_optimal();
  if (extraction.best_us() < result.cost_before.total_us * kRealGain) {
    result.graph = to_graph(problem, extraction.best());
    result.cost_after = cost.graph_cost(*result.graph);
    result.rules = makers_of(problem, extraction.best(), prepared);
  }
  result.cpu_s = core::process_cpu_s() - cpu_before;
  return result;
}

}  // namespace soapstone::search
