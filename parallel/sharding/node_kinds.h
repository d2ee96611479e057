// The choices of nodes with their costs and layouts; nodes that are alike share them.
#pragma once

#include <unordered_map>

#include "parallel/sharding/layout_lists.h"
#include "parallel/sharding/sharding.h"

namespace soapstone::parallel {

/// What nodes that are alike have in common.
struct NodeKind {
  std::vector<NodeChoice> choices;
  CostTableId costs;                          ///< By choice.
  std::vector<LayoutListId> inputs, outputs;  ///< By choice.
  bool obeys_policies = true;                 ///< As in NodeChoices.
};

class NodeKinds {
 public:
  /// All must outlive this.
  NodeKinds(const ShardingContext& context, CostTables& tables, LayoutLists& lists)
      : context_(context), tables_(tables), lists_(lists) {}

  /// Lives as long as this.
  const NodeKind& of(core::NodeId id);
  /// Results of the model are summed, not gathered.
  Conversion result_sums(core::NodeId id, const NodeChoice& choice) const;
  /// Its passes, as the weights of the options count positions.
  PartTime counted(const NodeChoice& choice) const;

 private:
  void fill(core::NodeId id, NodeKind& kind);
  double own_cost(core::NodeId id, const NodeChoice& choice) const;
  std::uint64_t hash_of(core::NodeId id) const;
  std::uint64_t hash_of(core::TensorId id) const;

  const ShardingContext& context_;
  CostTables& tables_;
  LayoutLists& lists_;
  std::unordered_map<std::uint64_t, NodeKind> known_;
};

}  // namespace soapstone::parallel
