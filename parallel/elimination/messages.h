// A good assignment of what elimination leaves, and a bound, by messages between neighbors: the
// sequential tree-reweighted algorithm of Kolmogorov, "Convergent tree-reweighted message passing
// for energy minimization", 2006.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/elimination/remaining_graph.h"

namespace soapstone::parallel {

class Messages {
 public:
  /// Both must outlive this. Precondition: costs are not negative.
  Messages(const RemainingGraph& graph, CostTables& tables);

  /// Passes messages until the best assignment costs at most `gap` more than the bound, as a share,
  /// or until they change little. Complexity: edges · choices² a sweep.
  void pass(double gap);

  /// By variable, those that are gone included, which have 0.
  const std::vector<std::uint32_t>& choices() const { return cost_ < kImpossible ? best_ : now_; }
  double cost() const { return cost_; }  ///< kImpossible: no assignment was met.
  /// No assignment costs less, for certain: rounding is allowed for.
  double lower_bound() const;

 private:
  struct Edge {
    std::uint32_t ends[2];           ///< The earlier variable is the first.
    CostTableId costs[2];            ///< Rows: choices of that end.
    std::vector<double> message[2];  ///< To that end, by its choices.
  };
  void sweep(int direction);
  void visit(std::uint32_t v, int direction);
  void send(Edge& edge, int from, double share);
  void choose(std::uint32_t v, int direction);
  void rate_choices();
  double finite(double cost) const { return cost < ceiling_ ? cost : ceiling_; }

  const RemainingGraph& graph_;
  CostTables& tables_;
  std::vector<std::uint32_t> variables_;  ///< Those that are left.
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_[2];  ///< By variable: those whose end it is.
  /// Replaces what is impossible: as much as some assignment, so none that has it is the least.
  double ceiling_ = 0, largest_ceiling_ = 0;
  double bound_ = 0;  ///< The last sweep's.
  double best_bound_ = 0, cost_ = kImpossible;
  std::vector<std::uint32_t> now_, best_;
  std::vector<double> rest_;  ///< The visited variable's, by choice.
};

}  // namespace soapstone::parallel
