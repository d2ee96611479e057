// Costs of e-nodes, each looked at alone or behind one producer. The cost of a whole graph is for
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

  /// The cost of the e-node as a launch of its own or, if it can be, as the end of an operand's
  /// launch. 0 for leaves, views, and e-nodes that are computed from constants.
  double estimate(rules::ENodeId id) const { return estimates_[id.index()]; }
  /// The least that the e-node adds to the cost of a graph, if no launch costs less than its first
  /// operator alone.
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
