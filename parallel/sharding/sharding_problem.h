// The search for a sharding as a graph of costs: variables are the choices of nodes, the layouts of
// weights, and those of copies that several readers of a tensor share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "parallel/elimination/cost_graph.h"
#include "parallel/sharding/layout_changes.h"
#include "parallel/sharding/layout_lists.h"
#include "parallel/sharding/node_kinds.h"
#include "parallel/sharding/sharding.h"
#include "parallel/sharding/weight_layouts.h"

namespace soapstone::parallel {

/// An exchange with its share of the time of a bucket that is as large as the options say.
struct PricedExchange {
  WeightExchange exchange;
  double gather_us = 0, gradient_us = 0;
};

/// A way for a weight to lie beside what its readers want.
struct WeightChoice {
  std::uint32_t choice = 0;  ///< The weight's variable has it.
  HeldWeight held;
  std::optional<PricedExchange> exchange;  ///< None: it lies as it is read.
};

/// A weight in the graph of costs.
struct WeightVariable {
  core::TensorId tensor;
  CostVariableId variable;  ///< It has a single neighbor.
};

class ShardingProblem {
 public:
  /// Both must outlive this.
  ShardingProblem(const ShardingContext& context, CostTables& tables);
  ShardingProblem(const ShardingProblem&) = delete;
  ShardingProblem& operator=(const ShardingProblem&) = delete;

  const CostGraph& costs() const { return cost_graph_; }
  EliminationOptions elimination() const { return {context_.options.most_cases}; }
  std::vector<WeightVariable> weights() const;

  Sharding sharding_of(const Assignment& assignment);
  /// How a weight may lie, beside the choices of nodes and copies.
  std::vector<WeightChoice> weight_choices(core::TensorId weight,
                                           const Assignment& assignment) const;
  /// Adds a weight's exchange to the parts of a step.
  void add(const PricedExchange& exchange, StepParts& parts) const;
  /// Between copies of weights that several nodes read and these nodes.
  std::vector<PricedExchange> exchanges_of_copies(const Assignment& assignment) const;

 private:
  /// A node reads a tensor as that input.
  struct Reader {
    core::NodeId node;
    std::size_t input;
  };
  /// Variables stand for layouts: what a node makes, a weight or a shared copy (view) of a tensor.
  struct Place {
    CostVariableId variable;
    LayoutListId layouts;  ///< By choice.
  };
  /// All that a change of layout depends on but the layouts.
  struct ChangedTensor {
    double bytes, turns;
    bool is_weight, has_gradient;
    Keeping keeping;
    auto operator<=>(const ChangedTensor&) const = default;
  };
  struct TableKey {
    ChangedTensor tensor;
    LayoutListId from, to;
    auto operator<=>(const TableKey&) const = default;
  };
  struct ChangeKey {
    ChangedTensor tensor;
    Layout from, to;
    auto operator<=>(const ChangeKey&) const = default;
  };
  struct ExplainedChange {
    LayoutChange change;
    std::vector<NodeExchange> exchanges;  ///< As if of an input 0.
  };
  struct WeightKey {
    core::Dims dims;
    double bytes;
    bool has_gradient;
    std::vector<LayoutListId> readers;
    auto operator<=>(const WeightKey&) const = default;
  };
  /// Which nodes pay for a change of layout, and for the memory that it leaves.
  struct Payers {
    core::NodeId time, memory;
  };

  void add_node(core::NodeId id);
  void collect_readers();
  void connect_tensor(core::TensorId id);
  void connect(core::TensorId id, const Place& from, const Place& to, Keeping keeping);
  CostTableId edge_table(const TensorWork& tensor, const LayoutLists::List& from,
                         const LayoutLists::List& to, Keeping keeping);

  LayoutListId input_list(const Reader& reader) const;
  std::vector<LayoutListId> lists_of(const std::vector<Reader>& readers) const;
  bool rereads(const Reader& reader) const;
  Keeping keeping_of(core::TensorId id) const;
  Place place_of(const Reader& reader) const;
  Place produced(core::TensorId id) const;
  Place shared(const std::vector<Reader>& readers, bool is_weight);
  std::vector<Layout> summed_early(std::vector<Layout> layouts) const;
  Place weight(core::TensorId id);
  std::vector<std::set<std::int8_t>> wanted_digits(const std::vector<LayoutListId>& readers) const;

  void explain(const Assignment& best);
  const Layout& chosen(const Place& place, const Assignment& best) const;
  void explain_tensor(core::TensorId id, const Assignment& best);
  void explain_weight(core::TensorId id, const Layout& layout);
  void add_change(Payers payers, core::TensorId id, const Layout& from, const Layout& to,
                  Keeping keeping);
  ExplainedChange explained(const TensorWork& tensor, const Layout& from, const Layout& to,
                            Keeping keeping) const;
  void tell(core::NodeId reader, core::TensorId id, const std::vector<NodeExchange>& exchanges);
  std::optional<PricedExchange> exchange_of(core::NodeId reader, const TensorWork& weight,
                                            const Layout& from, const Layout& to) const;
  static std::optional<PricedExchange> priced(core::NodeId reader, const TensorWork& weight,
                                              const Layout& from, const Layout& to,
                                              const LayoutChange& made);
  void count_exchange(NodeCost& cost, const PricedExchange& exchange, const LayoutChange& made);
  void add_passes();

  const ShardingContext context_;
  const core::Graph& graph_;
  const StepWork& work_;
  CostTables& tables_;
  CostGraph cost_graph_;
  LayoutLists lists_;
  NodeKinds nodes_;
  const WeightLayouts weights_;
  const LayoutChanges changes_;
  std::vector<const NodeKind*> kinds_;  // by node
  std::map<WeightKey, std::pair<CostTableId, LayoutListId>> weight_kinds_;
  std::vector<CostVariableId> variable_of_node_;
  std::vector<std::vector<Reader>> readers_;  // by tensor
  std::map<core::TensorId, Place> weight_places_, views_;
  std::map<TableKey, CostTableId> edge_tables_;
  std::map<ChangeKey, ExplainedChange> explained_;
  core::NodeId disobeys_ = core::NodeId::none();
  Sharding result_;
};

}  // namespace soapstone::parallel
