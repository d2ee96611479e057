// See lower_bound.h.
#include "search/saturation/lower_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "search/saturation/necessity.h"

namespace soapstone::search {

using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

namespace {

constexpr double kUnmade = std::numeric_limits<double>::infinity();

/// All classes that every graph has, each with its cheapest e-node.
double necessary_cost(const EqsatProblem& problem, const ENodeCosts& costs,
                      const Necessity& necessity) {
  const EGraph& graph = problem.graph;
  double sum = 0;
  for (std::size_t k = 0; k < graph.class_bound(); ++k) {
    const ClassId id(k);
    const bool is_needed = std::ranges::any_of(problem.outputs, [&](ClassId output) {
      return graph.find(id) == id && necessity.is_needed(graph.find(output), id);
    });
    double least = kUnmade;
    for (const ENodeId node : graph[id].nodes) {
      const auto results = static_cast<double>(graph.results(node).size());
      if (!necessity.is_circular(node, id)) least = std::min(least, costs.at_least(node) / results);
    }
    if (is_needed && least != kUnmade) sum += least;
  }
  return sum;
}

/// Shares of costs among readers, and the bound that they give.
///
/// With shares that add up to 1 for each class, let t(c) be the least of cost(n) + Σ share ·
/// t(operand) over the e-nodes n of the class c, for the largest such t. By induction over the
/// classes of any graph, operands first, no class is charged more than the graph spends for it; so
/// the outputs' shares of t add up to a lower bound. Circular choices do not count, as t is not
/// built up from 0.
class SharedCosts {
 public:
  SharedCosts(const EqsatProblem& problem, const ENodeCosts& costs, const Necessity& necessity)
      : graph_(problem.graph), outputs_(different(problem.graph, problem.outputs)),
        ways_(graph_.class_bound()), readers_(graph_.class_bound()),
        totals_(graph_.class_bound(), kUnmade), chosen_(graph_.class_bound()) {
    for (std::size_t k = 0; k < graph_.class_bound(); ++k)
      if (graph_.find(ClassId(k)) == ClassId(k)) add_ways(ClassId(k), costs, necessity);
    for (const ClassId id : outputs_) add_edge(ClassId::none(), id);
    for (const std::vector<std::size_t>& edges : readers_)
      for (const std::size_t edge : edges) share_[edge] = 1 / static_cast<double>(edges.size());
    order_by_size();
  }

  double bound(int rounds) {
    double best = evaluate();
    for (int round = 0; round < rounds; ++round) {
      move_shares(1 / (2.0 + 0.25 * round));
      best = std::max(best, evaluate());
    }
    return best;
  }

 private:
  /// An e-node as one class sees it: what it costs the class, and whose costs it shares.
  struct Way {
    double cost = 0;
    std::vector<std::size_t> edges;
  };

  std::size_t add_edge(ClassId reader, ClassId read) {
    const auto [at, is_new] = edges_.try_emplace({reader, read}, read_.size());
    if (is_new) {
      read_.push_back(read);
      share_.push_back(0);
      readers_[read.index()].push_back(at->second);
    }
    return at->second;
  }

  void add_ways(ClassId id, const ENodeCosts& costs, const Necessity& necessity) {
    for (const ENodeId node : graph_[id].nodes) {
      if (necessity.is_circular(node, id)) continue;
      Way way;
      way.cost = costs.at_least(node) / static_cast<double>(graph_.results(node).size());
      for (const ClassId operand : different(graph_, graph_.operands(node)))
        way.edges.push_back(add_edge(id, operand));
      ways_[id.index()].push_back(std::move(way));
    }
  }

  /// Classes in the order in which graphs of them can be made, so that few sweeps are needed.
  void order_by_size() {
    std::vector<bool> is_made(graph_.class_bound());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t k = 0; k < ways_.size(); ++k) {
        if (is_made[k]) continue;
        is_made[k] = std::ranges::any_of(ways_[k], [&](const Way& way) {
          return std::ranges::all_of(
              way.edges, [&](std::size_t edge) { return is_made[read_[edge].index()]; });
        });
        if (is_made[k]) order_.push_back(k);
        changed = changed || is_made[k];
      }
    }
  }

  double cost_of(const Way& way) const {
    double cost = way.cost;
    for (const std::size_t edge : way.edges) {
      const double total = totals_[read_[edge].index()];
      if (total == kUnmade) return kUnmade;
      cost += share_[edge] * total;
    }
    return cost;
  }

  /// The bound with the shares as they are; 0 if the sweeps do not come to an end.
  double evaluate() {
    constexpr int kSweeps = 400;
    constexpr double kStep = 1e-9;  // of a microsecond, which is nothing
    std::ranges::fill(totals_, kUnmade);
    bool changed = true;
    for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
      changed = false;
      for (const std::size_t k : order_) {
        for (std::size_t w = 0; w < ways_[k].size(); ++w) {
          const double cost = cost_of(ways_[k][w]);
          if (cost >= totals_[k]) continue;
          changed = changed || cost < totals_[k] - kStep;
          totals_[k] = cost;
          chosen_[k] = w;
        }
      }
    }
    if (changed) return 0;
    double sum = 0;
    for (const ClassId id : outputs_) {
      const std::size_t edge = edges_.at({ClassId::none(), id});
      sum += share_[edge] * totals_[id.index()];
    }
    return std::max(0.0, sum - kStep * static_cast<double>(order_.size()));
  }

  /// Moves shares by that step to the readers in the graph of the ways that are cheapest now.
  void move_shares(double step) {
    std::vector<bool> is_needed(graph_.class_bound()), is_used(share_.size());
    std::vector<ClassId> pending = outputs_;
    for (const ClassId id : outputs_) {
      is_needed[id.index()] = true;
      is_used[edges_.at({ClassId::none(), id})] = true;
    }
    while (!pending.empty()) {
      const std::size_t k = pending.back().index();
      pending.pop_back();
      for (const std::size_t edge : ways_[k][chosen_[k]].edges) {
        is_used[edge] = true;
        const ClassId read = read_[edge];
        if (!is_needed[read.index()]) pending.push_back(read);
        is_needed[read.index()] = true;
      }
    }
    for (const std::vector<std::size_t>& edges : readers_) {
      const auto used = static_cast<double>(
          std::ranges::count_if(edges, [&](std::size_t edge) { return is_used[edge]; }));
      if (used == 0) continue;
      for (const std::size_t edge : edges)
        share_[edge] += step * ((is_used[edge] ? 1 / used : 0) - share_[edge]);
    }
  }

  const EGraph& graph_;
  std::vector<ClassId> outputs_;
  std::vector<std::vector<Way>> ways_;                        ///< By class.
  std::vector<std::vector<std::size_t>> readers_;             ///< By class: the edges to it.
  std::map<std::pair<ClassId, ClassId>, std::size_t> edges_;  ///< From a reader, or the model.
  std::vector<ClassId> read_;                                 ///< By edge: the class that is read.
  std::vector<double> share_;                                 ///< By edge: of the cost of `read_`.
  std::vector<std::size_t> order_;                            ///< Classes that can be made.
  std::vector<double> totals_;                                ///< By class.
  std::vector<std::size_t> chosen_;                           ///< By class: its cheapest way.
};

}  // namespace

std::vector<ClassId> different(const EGraph& graph, std::span<const ClassId> ids) {
  std::vector<ClassId> found;
  for (ClassId id : ids)
    if (id.valid()) found.push_back(graph.find(id));
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<double> chain_bounds(const EqsatProblem& problem, const ENodeCosts& costs) {
  // Cheapest classes first, as in Knuth's generalization of Dijkstra's algorithm.
  const EGraph& graph = problem.graph;
  std::vector<double> chain(graph.class_bound(), kUnmade);
  std::vector<std::size_t> missing(graph.node_bound());
  std::priority_queue<std::pair<double, ClassId>, std::vector<std::pair<double, ClassId>>,
                      std::greater<>>
      queue;
  const auto offer = [&](ENodeId node) {
    double longest = 0;
    for (const ClassId operand : different(graph, graph.operands(node)))
      longest = std::max(longest, chain[operand.index()]);
    for (const ClassId result : different(graph, graph.results(node)))
      queue.emplace(longest + costs.at_least(node), result);
  };
  for (std::size_t k = 0; k < graph.node_bound(); ++k) {
    if (!graph.is_live(ENodeId(k))) continue;
    missing[k] = different(graph, graph.operands(ENodeId(k))).size();
    if (missing[k] == 0) offer(ENodeId(k));
  }
  while (!queue.empty()) {
    const auto [cost, id] = queue.top();
    queue.pop();
    if (chain[id.index()] != kUnmade) continue;
    chain[id.index()] = cost;
    for (const ENodeId reader : graph[id].readers)
      if (graph.is_live(reader) && --missing[reader.index()] == 0) offer(reader);
  }
  return chain;
}

double lower_bound(const EqsatProblem& problem, const ENodeCosts& costs, int rounds) {
  const std::vector<double> chains = chain_bounds(problem, costs);
  double chain = 0;
  for (const ClassId id : different(problem.graph, problem.outputs))
    chain = std::max(chain, chains[id.index()]);
  const Necessity necessity(problem.graph);
  return std::max({chain, necessary_cost(problem, costs, necessity),
                   SharedCosts(problem, costs, necessity).bound(rounds)});
}

}  // namespace soapstone::search
