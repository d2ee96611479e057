// What e-nodes cost, each looked at alone or behind one producer. The cost of a whole graph is for
// cost/ to say; these numbers guide the choice between e-nodes and bound it from below.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "cost/models/cost_model.h"
#include "rules/saturation/egraph.h"

namespace soapstone::search {

/// Units: microseconds.
class ENodeCosts {
 public:
  /// Prices all live e-nodes, until `stopped` says to leave the rest at 0. `graph` is rebuilt and
  /// does not change any more.
  ENodeCosts(
      const rules::EGraph& graph, cost::CostModel& model,
      const std::function<bool()>& stopped = [] { return false; });

  /// As a launch of its own, or as the end of the launch of an operand where it can be that. 0 for
  /// leaves, views, and what is computed from constants.
  double estimate(rules::ENodeId id) const { return estimates_[id.index()]; }
  /// What it adds to a graph at least, if no launch costs less than its first operator alone.
  double at_least(rules::ENodeId id) const { return at_least_[id.index()]; }

 private:
  double alone(rules::ENodeId id);
  double behind(rules::ENodeId first, rules::ENodeId second);
  double behind_launches(rules::ENodeId id);
  void price(rules::ENodeId id);

  const rules::EGraph& graph_;
  cost::CostModel& model_;
  std::vector<double> estimates_, at_least_;
  std::unordered_map<std::uint64_t, double> known_;  // by operation and types
};

}  // namespace soapstone::search
