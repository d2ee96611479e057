// See eqsat_bound.h.
#include "search/saturation/eqsat_bound.h"

#include <algorithm>
#include <limits>

#include "search/saturation/lower_bound.h"

namespace soapstone::search {

using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class BranchSearch {
 public:
  BranchSearch(const EqsatProblem& problem, const ENodeCosts& costs, double known_us,
               std::uint64_t max_steps, const std::function<double(const Selection&)>& cost,
               const std::function<bool()>& stopped)
      : problem_(problem), graph_(problem.graph), costs_(costs),
        chains_(chain_bounds(problem, costs)), max_steps_(max_steps), cost_(cost),
        stopped_(stopped), greedy_(greedy_selection(problem, costs, given_selection(problem))),
        selection_(graph_.class_bound()), uses_(graph_.node_bound()) {
    found_.cost_us = known_us;
    order_.resize(graph_.class_bound());
    for (std::size_t k = 0; k < order_.size(); ++k)
      if (graph_.find(ClassId(k)) == ClassId(k)) order_[k] = makers_of(ClassId(k));
  }

  BranchAndBound run() {
    const std::vector<ClassId> open = different(graph_, problem_.outputs);
    branch(open, 0);
    found_.complete = !given_up_;
    return std::move(found_);
  }

 private:
  /// The e-nodes of the class, the most promising first.
  std::vector<ENodeId> makers_of(ClassId id) const {
    std::vector<std::pair<double, ENodeId>> rated;
    for (ENodeId node : graph_[id].nodes) {
      double rating = costs_.estimate(node);
      for (ClassId operand : different(graph_, graph_.operands(node)))
        rating += chains_[operand.index()];
      rated.emplace_back(rating, node);
    }
    std::ranges::sort(rated);
    std::vector<ENodeId> makers;
    for (const auto& [rating, node] : rated) makers.push_back(node);
    // A class that is computed from constants is free whichever e-node makes it: one is enough.
    if (graph_[id].constant) makers = {greedy_[id.index()]};
    return makers;
  }

  /// `open`: needed classes that nothing is chosen for, ascending. `paid`: of what is chosen.
  void branch(std::vector<ClassId> open, double paid) {
    if (given_up_) return;
    if (open.empty()) return finish();
    // The dearest class first: what it decides matters most.
    const auto next =
        std::ranges::max_element(open, {}, [&](ClassId id) { return chains_[id.index()]; });
    const ClassId id = *next;
    open.erase(next);
    for (ENodeId node : order_[id.index()]) {
      given_up_ = given_up_ || ++found_.steps > max_steps_ || stopped_();
      if (given_up_) return;
      const double now = paid + (uses_[node.index()] == 0 ? costs_.at_least(node) : 0);
      if (now >= found_.cost_us - kTolerance || closes_cycle(id, node)) continue;
      std::vector<ClassId> wanted = open;
      for (ClassId operand : different(graph_, graph_.operands(node)))
        if (!selection_[operand.index()].valid()) wanted.push_back(operand);
      wanted = different(graph_, wanted);
      selection_[id.index()] = node;
      ++uses_[node.index()];
      if (bound_with(wanted, now) < found_.cost_us - kTolerance) branch(std::move(wanted), now);
      --uses_[node.index()];
      selection_[id.index()] = ENodeId::none();
    }
  }

  /// Each open class takes an e-node that is not paid for, or one of several results that other
  /// open classes may take, too. Chosen e-nodes may be part of the chain of an open class, so a
  /// chain's cost is a bound by itself and is not added.
  double bound_with(const std::vector<ClassId>& open, double paid) const {
    double chain = 0;
    for (ClassId id : open) {
      chain = std::max(chain, chains_[id.index()]);
      double least = kInfinity;
      for (ENodeId node : order_[id.index()]) {
        const auto results = static_cast<double>(graph_.results(node).size());
        least = std::min(least, uses_[node.index()] > 0 ? 0 : costs_.at_least(node) / results);
      }
      paid += least;
    }
    return std::max(paid, chain);
  }

  /// Whether an operand needs the class by what is chosen already.
  bool closes_cycle(ClassId id, ENodeId node) const {
    std::vector<ClassId> pending = different(graph_, graph_.operands(node));
    std::vector<ClassId> seen = pending;
    while (!pending.empty()) {
      const ClassId at = pending.back();
      pending.pop_back();
      if (at == id) return true;
      if (!selection_[at.index()].valid()) continue;
      for (ClassId operand : different(graph_, graph_.operands(selection_[at.index()]))) {
        if (std::ranges::find(seen, operand) != seen.end()) continue;
        seen.push_back(operand);
        pending.push_back(operand);
      }
    }
    return false;
  }

  void finish() {
    found_.steps += kStepsOfACost;
    const double cost = cost_(selection_);
    if (cost >= found_.cost_us - kTolerance) return;
    found_.cost_us = cost;
    found_.best = selection_;
  }

  static constexpr double kTolerance = 1e-6;
  static constexpr std::uint64_t kStepsOfACost = 50;  // about what it takes

  const EqsatProblem& problem_;
  const EGraph& graph_;
  const ENodeCosts& costs_;
  std::vector<double> chains_;  // by class
  std::uint64_t max_steps_;
  const std::function<double(const Selection&)>& cost_;
  const std::function<bool()>& stopped_;
  Selection greedy_, selection_;
  std::vector<std::uint32_t> uses_;          // by e-node: for how many classes it is chosen
  std::vector<std::vector<ENodeId>> order_;  // by class
  BranchAndBound found_;
  bool given_up_ = false;
};

}  // namespace

BranchAndBound branch_and_bound(const EqsatProblem& problem, const ENodeCosts& costs,
                                double known_us, std::uint64_t max_steps,
                                const std::function<double(const Selection&)>& cost,
                                const std::function<bool()>& stopped) {
  return BranchSearch(problem, costs, known_us, max_steps, cost, stopped).run();
}

}  // namespace soapstone::search
