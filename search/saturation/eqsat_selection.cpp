// See eqsat_selection.h.
#include "search/saturation/eqsat_selection.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

#include "core/base/check.h"
#include "ops/definition/registry.h"

namespace soapstone::search {

using core::TensorId;
using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
/// Added for each e-node, so that of equal costs fewer operators are chosen.
constexpr double kOperatorCost = 1e-6;

/// Chooses the cheapest e-node of each class, given who shares what.
class GreedySelector {
 public:
  GreedySelector(const EqsatProblem& problem, const ENodeCosts& costs, const Selection& guide,
                 Sharing sharing)
      : graph_(problem.graph), costs_(costs), uses_(graph_.class_bound(), 1.0),
        results_(graph_.node_bound(), 1.0), best_(graph_.class_bound(), kNothing),
        chosen_(graph_.class_bound()), missing_(graph_.node_bound()) {
    if (const auto needed = needed_classes(problem, guide))
      note_sharing(problem, *needed, guide, sharing);
  }

  /// Cheapest classes first, as in Knuth's generalization of Dijkstra's algorithm: what is settled
  /// only ever rests on what was settled before, so nothing is circular.
  Selection run() {
    for (std::size_t k = 0; k < graph_.node_bound(); ++k) {
      const ENodeId id(k);
      if (!graph_.is_live(id)) continue;
      missing_[k] = different_operands(id).size();
      if (missing_[k] == 0) offer(id);
    }
    while (!queue_.empty()) {
      const auto [cost, id, node] = queue_.top();
      queue_.pop();
      if (chosen_[id.index()].valid()) continue;
      chosen_[id.index()] = node;
      best_[id.index()] = cost;
      for (ENodeId reader : graph_[id].readers)
        if (graph_.is_live(reader) && --missing_[reader.index()] == 0) offer(reader);
    }
    return std::move(chosen_);
  }

 private:
  using Entry = std::tuple<double, ClassId, ENodeId>;

  std::vector<ClassId> different_operands(ENodeId id) const {
    std::vector<ClassId> operands;
    for (ClassId operand : graph_.operands(id))
      if (operand.valid()) operands.push_back(graph_.find(operand));
    std::ranges::sort(operands);
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    return operands;
  }

  /// How many of the needed classes read each class, and how many results of an e-node are needed.
  void note_sharing(const EqsatProblem& problem, const std::vector<ClassId>& needed,
                    const Selection& guide, Sharing sharing) {
    std::vector<double> uses(graph_.class_bound());
    std::vector<bool> is_needed(graph_.class_bound());
    for (ClassId id : needed) {
      is_needed[id.index()] = true;
      std::set<ClassId> used;
      const auto use = [&](ENodeId node) {
        for (ClassId operand : different_operands(node)) used.insert(operand);
      };
      use(guide[id.index()]);
      if (sharing == Sharing::kPossible) std::ranges::for_each(graph_[id].nodes, use);
      for (ClassId operand : used) ++uses[operand.index()];
    }
    for (ClassId id : problem.outputs) ++uses[graph_.find(id).index()];
    for (std::size_t k = 0; k < uses.size(); ++k) uses_[k] = std::max(1.0, uses[k]);
    for (std::size_t k = 0; k < graph_.node_bound(); ++k) {
      double count = 0;
      for (ClassId result : graph_.results(ENodeId(k)))
        count += is_needed[graph_.find(result).index()] ? 1 : 0;
      results_[k] = std::max(1.0, count);
    }
  }

  /// All operands are settled.
  void offer(ENodeId id) {
    double cost = costs_.estimate(id) + kOperatorCost;
    for (ClassId operand : different_operands(id))
      cost += best_[operand.index()] / uses_[operand.index()];
    for (ClassId result : graph_.results(id))
      queue_.emplace(cost / results_[id.index()], graph_.find(result), id);
  }

  const EGraph& graph_;
  const ENodeCosts& costs_;
  std::vector<double> uses_;     // by class
  std::vector<double> results_;  // by e-node
  std::vector<double> best_;
  Selection chosen_;
  std::vector<std::size_t> missing_;  // by e-node: operands that are not settled
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

/// Builds the graph of a selection.
class GraphMaker {
 public:
  GraphMaker(const EqsatProblem& problem, const Selection& selection)
      : problem_(problem), selection_(selection),
        builder_(problem.model.name(), problem.model.symbols()),
        tensors_(problem.graph.class_bound()), done_(problem.graph.node_bound()) {}

  core::Graph run(const std::vector<ClassId>& needed) {
    for (std::size_t k = 0; k < problem_.inputs.size(); ++k) {
      const core::Tensor& input = problem_.model.tensor(problem_.model.inputs()[k]);
      inputs_.push_back(builder_.add_input(input.name, input.type));
    }
    for (ClassId id : needed) add(id);
    std::vector<TensorId> outputs;
    for (ClassId id : problem_.outputs)
      outputs.push_back(tensors_[problem_.graph.find(id).index()]);
    builder_.set_outputs(std::move(outputs));
    auto finished = std::move(builder_).finish();
    CHECK(finished, finished.error().to_string());
    return *std::move(finished);
  }

 private:
  void add(ClassId id) {
    const EGraph& graph = problem_.graph;
    const ENodeId node = selection_[id.index()];
    const rules::Operation& operation = graph.operation(node);
    if (operation.literal) {
      tensors_[id.index()] = builder_.add_constant(operation.literal);
      return;
    }
    if (operation.op == nullptr) {
      tensors_[id.index()] = inputs_[operation.number - 1];
      return;
    }
    auto& results = done_[node.index()];
    if (results.empty()) {
      std::vector<TensorId> operands;
      for (ClassId operand : graph.operands(node))
        operands.push_back(operand.valid() ? tensors_[graph.find(operand).index()]
                                           : TensorId::none());
      std::vector<core::TensorType> types;
      for (ClassId result : graph.results(node)) types.push_back(graph.type(result));
      results = builder_.add_node(*operation.op, operation.attributes, std::move(operands),
                                  std::move(types));
    }
    for (std::size_t k = 0; k < results.size(); ++k)
      if (graph.find(graph.results(node)[k]) == id) tensors_[id.index()] = results[k];
  }

  const EqsatProblem& problem_;
  const Selection& selection_;
  core::GraphBuilder builder_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> tensors_;            // by class
  std::vector<std::vector<TensorId>> done_;  // by e-node
};

}  // namespace

std::optional<std::vector<ClassId>> needed_classes(const EqsatProblem& problem,
                                                   const Selection& selection) {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  const EGraph& graph = problem.graph;
  std::vector<Mark> marks(graph.class_bound(), Mark::kNew);
  std::vector<ClassId> order;
  std::vector<std::pair<ClassId, std::size_t>> path;
  for (ClassId output : problem.outputs) {
    path.emplace_back(graph.find(output), 0);
    while (!path.empty()) {
      const auto [id, next] = path.back();
      const ENodeId node = selection[id.index()];
      if (!node.valid()) return std::nullopt;
      if (next == 0) {
        if (marks[id.index()] == Mark::kDone) {
          path.pop_back();
          continue;
        }
        if (marks[id.index()] == Mark::kOpen) return std::nullopt;
        marks[id.index()] = Mark::kOpen;
      }
      const auto operands = graph.operands(node);
      if (next < operands.size()) {
        ++path.back().second;
        if (operands[next].valid()) path.emplace_back(graph.find(operands[next]), 0);
        continue;
      }
      marks[id.index()] = Mark::kDone;
      order.push_back(id);
      path.pop_back();
    }
  }
  return order;
}

double estimate_of(const EqsatProblem& problem, const ENodeCosts& costs, const Selection& selection,
                   const std::vector<ClassId>& needed) {
  double total = 0;
  for (ClassId id : needed) {
    const ENodeId node = selection[id.index()];
    // An e-node with several results counts with the first of them that it was chosen for.
    const auto results = problem.graph.results(node);
    const auto first = std::ranges::find_if(results, [&](ClassId result) {
      return selection[problem.graph.find(result).index()] == node;
    });
    if (problem.graph.find(*first) == id) total += costs.estimate(node) + kOperatorCost;
  }
  return total;
}

Selection greedy_selection(const EqsatProblem& problem, const ENodeCosts& costs,
                           const Selection& guide, Sharing sharing) {
  return GreedySelector(problem, costs, guide, sharing).run();
}

Selection given_selection(const EqsatProblem& problem) {
  const EGraph& graph = problem.graph;
  Selection selection(graph.class_bound());
  // Each class has the e-node that came first: the rules' come later, so it is the model's.
  for (std::size_t k = graph.node_bound(); k-- > 0;)
    if (graph.is_live(ENodeId(k)) && graph.maker(ENodeId(k)) == EGraph::kGiven)
      for (ClassId result : graph.results(ENodeId(k)))
        selection[graph.find(result).index()] = ENodeId(k);
  return selection;
}

core::Graph to_graph(const EqsatProblem& problem, const Selection& selection) {
  const auto needed = needed_classes(problem, selection);
  CHECK(needed, "a selection that is not a graph");
  return GraphMaker(problem, selection).run(*needed);
}

}  // namespace soapstone::search
