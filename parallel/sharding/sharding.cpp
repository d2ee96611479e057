#include "parallel/sharding/sharding.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/check.h"
#include "parallel/elimination/ascending.h"
#include "parallel/sharding/layout_changes.h"
#include "parallel/sharding/node_kinds.h"
#include "parallel/sharding/weight_layouts.h"

namespace soapstone::parallel {
namespace {

/// Where a node reads a tensor.
struct Reader {
  core::NodeId node;
  std::size_t input;
};

class ShardingProblem {
 public:
  ShardingProblem(const ShardingContext& context, CostTables& tables)
      : context_(context), graph_(context.graph), work_(context.work), tables_(tables),
        nodes_(context_, tables, lists_), weights_(context.mesh, context.rates, context.options),
        changes_(context.mesh, context.options) {}

  /// Precondition: called once, before anything else.
  void pose() {
    kinds_.resize(graph_.node_bound());
    variable_of_node_.resize(graph_.node_bound());
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) add_node(id);
    collect_readers();
    for (std::size_t t = 0; t < readers_.size(); ++t)
      if (!readers_[t].empty()) connect_tensor(core::TensorId(t));
  }

  const CostGraph& costs() const { return cost_graph_; }
  EliminationOptions elimination() const { return {context_.options.most_cases}; }

  Sharding sharding_of(const Assignment& assignment) {
    result_ = {};
    result_.disobeys = disobeys_;
    result_.nodes.resize(graph_.node_bound());
    result_.tensors.resize(graph_.tensor_bound());
    result_.costs.resize(graph_.node_bound());
    result_.cost_us = assignment.cost;
    result_.lower_bound_us = assignment.lower_bound;
    if (assignment.cost < kImpossible) explain(assignment);
    return std::move(result_);
  }

 private:
  /// Variables stand for layouts: what a node makes, a weight or a shared copy (view) of a tensor.
  struct Place {
    CostVariableId variable;
    LayoutListId layouts;  ///< By choice.
  };

  void add_node(core::NodeId id) {
    const NodeKind& kind = nodes_.of(id);
    if (!kind.obeys_policies && !disobeys_.valid()) disobeys_ = id;
    kinds_[id.index()] = &kind;
    variable_of_node_[id.index()] = cost_graph_.add(kind.costs);
  }

  void collect_readers() {
    readers_.resize(graph_.tensor_bound());
    for (const core::NodeId id : graph_.order()) {
      if (graph_.is_constant_expression(id)) continue;
      const core::Node& node = graph_.node(id);
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const core::TensorId input = node.inputs[k];
        // What is constant and no weight is made where it is needed, and inputs arrive as they are
        // wanted.
        if (!input.valid()) continue;
        const bool is_computed =
            graph_.tensor(input).producer.valid() && !graph_.is_constant_expression(input);
        if (is_computed || work_.tensors[input.index()].is_weight)
          readers_[input.index()].push_back({id, k});
      }
    }
  }

  LayoutListId input_list(const Reader& reader) const {
    return kinds_[reader.node.index()]->inputs[reader.input];
  }

  bool rereads(const Reader& reader) const {
    const NodeWork& node = work_.nodes[reader.node.index()];
    return node.runs_again || (reader.input < node.rereads.size() && node.rereads[reader.input]);
  }

  /// From the producer to the only reader, or to the copy that readers share.
  Keeping keeping_of(core::TensorId id) const {
    const std::vector<Reader>& readers = readers_[id.index()];
    return {work_.tensors[id.index()].is_kept,
            std::ranges::any_of(readers, [&](const Reader& reader) { return rereads(reader); })};
  }

  void connect_tensor(core::TensorId id) {
    const std::vector<Reader>& readers = readers_[id.index()];
    const auto place_of = [&](const Reader& reader) {
      return Place{variable_of_node_[reader.node.index()], input_list(reader)};
    };
    const Place source = work_.tensors[id.index()].is_weight ? weight(id) : produced(id);
    if (readers.size() == 1) return connect(id, source, place_of(readers[0]), keeping_of(id));
    const Place view = shared(readers, work_.tensors[id.index()].is_weight);
    connect(id, source, view, keeping_of(id));
    views_.emplace(id, view);
    for (const Reader& reader : readers)
      connect(id, view, place_of(reader), {false, rereads(reader)});
  }

  Place produced(core::TensorId id) const {
    const core::Tensor& tensor = graph_.tensor(id);
    const std::size_t producer = tensor.producer.index();
    return {variable_of_node_[producer], kinds_[producer]->outputs[tensor.output_index]};
  }

  std::vector<LayoutListId> lists_of(const std::vector<Reader>& readers) const {
    std::vector<LayoutListId> lists;
    for (const Reader& reader : readers) lists.push_back(input_list(reader));
    std::ranges::sort(lists);
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
    return lists;
  }

  /// A copy that several readers share, in any layout that one of them wants.
  Place shared(const std::vector<Reader>& readers, bool is_weight) {
    LayoutListId layouts = lists_.union_of(lists_of(readers));
    if (is_weight && context_.options.always_cuts_weights)
      layouts = lists_.add(summed_early(lists_[layouts].by_choice));
    const std::size_t count = lists_[layouts].by_choice.size();
    return {cost_graph_.add(tables_.intern({1, count, std::vector<double>(count, 0.0)})), layouts};
  }

  /// Without copies whose gradient a reader has to sum, if another copy arrives as it is read: the
  /// gradient of a weight that is cut is scattered where the weight is gathered, and summed
  /// nowhere.
  std::vector<Layout> summed_early(std::vector<Layout> layouts) const {
    const std::vector<Layout> all = layouts;
    std::erase_if(layouts, [&](const Layout& layout) {
      for (std::size_t a = 0; a < context_.mesh.axis_count(); ++a) {
        Layout other = layout;
        other.axes[a] = kBroadcast;
        if (layout.axes[a] == kReplicated && std::ranges::count(all, other) > 0) return true;
      }
      return false;
    });
    return layouts;
  }

  Place weight(core::TensorId id) {
    const auto dims = core::concrete(graph_.tensor(id).type.shape);
    CHECK(dims, "a weight without sizes");
    const TensorWork& weight = work_.tensors[id.index()];
    WeightKey key{*dims, weight.bytes, weight.has_gradient, lists_of(readers_[id.index()])};
    const auto [at, is_new] = weight_kinds_.try_emplace(std::move(key));
    if (is_new) {
      std::vector<Layout> layouts = weights_.all(*dims, wanted_digits(at->first.readers));
      CostTable own{1, layouts.size(), {}};
      for (const Layout& layout : layouts) own.costs.push_back(weights_.cost(weight, layout));
      at->second = {tables_.intern(std::move(own)), lists_.add(std::move(layouts))};
    }
    const Place place{cost_graph_.add(at->second.first), at->second.second};
    weight_places_.emplace(id, place);
    return place;
  }

  /// By axis: the digits that readers want the weight cut along.
  std::vector<std::set<std::int8_t>> wanted_digits(const std::vector<LayoutListId>& readers) const {
    std::vector<std::set<std::int8_t>> wanted(context_.mesh.axis_count());
    for (const LayoutListId reader : readers)
      for (const Layout& layout : lists_[reader].different)
        for (std::size_t a = 0; a < context_.mesh.axis_count(); ++a)
          if (layout.axes[a] >= 0) wanted[a].insert(layout.axes[a]);
    return wanted;
  }

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
    std::vector<NodeExchange> exchanges;  ///< Of an input 0.
  };
  struct WeightKey {
    core::Dims dims;
    double bytes;
    bool has_gradient;
    std::vector<LayoutListId> readers;
    auto operator<=>(const WeightKey&) const = default;
  };

  void connect(core::TensorId id, const Place& from, const Place& to, Keeping keeping) {
    const TensorWork& tensor = work_.tensors[id.index()];
    if (tensor.is_weight) keeping = {};
    const TableKey key{{tensor.bytes, tensor.turns, tensor.is_weight, tensor.has_gradient, keeping},
                       from.layouts,
                       to.layouts};
    const auto [at, is_new] = edge_tables_.try_emplace(key);
    if (is_new) at->second = edge_table(tensor, lists_[from.layouts], lists_[to.layouts], keeping);
    cost_graph_.connect(from.variable, to.variable, at->second);
  }

  CostTableId edge_table(const TensorWork& tensor, const LayoutLists::List& from,
                         const LayoutLists::List& to, Keeping keeping) {
    std::vector<double> costs;
    costs.reserve(from.different.size() * to.different.size());
    for (const Layout& a : from.different)
      for (const Layout& b : to.different) costs.push_back(changes_.cost(tensor, a, b, keeping));
    CostTable table{from.number.size(), to.number.size(), {}};
    table.costs.reserve(from.number.size() * to.number.size());
    for (const std::uint32_t a : from.number)
      for (const std::uint32_t b : to.number)
        table.costs.push_back(costs[a * to.different.size() + b]);
    return tables_.intern(std::move(table));
  }

  void explain(const Assignment& best) {
    for (const core::NodeId id : graph_.order()) {
      if (graph_.is_constant_expression(id)) continue;
      const NodeChoice& choice =
          kinds_[id.index()]->choices[best.choices[variable_of_node_[id.index()].index()]];
      const core::Node& node = graph_.node(id);
      NodeCost& cost = result_.costs[id.index()];
      cost.forward_us = choice.forward_us;
      cost.backward_us = choice.backward_us;
      cost.by_position = choice.by_position;
      const Conversion sums = nodes_.result_sums(id, choice);
      cost.forward_conversion_us += sums.us;
      const double again_us = context_.options.recomputes ? choice.forward_us : 0;
      result_.parts.forward += choice.forward_us + sums.us;
      result_.parts.backward += again_us + choice.backward_us;
      cost.bytes_moved += sums.bytes_moved;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        result_.tensors[node.outputs[k].index()] = choice.outputs[k];
      result_.nodes[id.index()] = choice;
    }
    for (std::size_t t = 0; t < readers_.size(); ++t)
      if (!readers_[t].empty()) explain_tensor(core::TensorId(t), best);
  }

  const Layout& chosen(const Place& place, const Assignment& best) const {
    return lists_[place.layouts].by_choice[best.choices[place.variable.index()]];
  }

  void explain_tensor(core::TensorId id, const Assignment& best) {
    const std::vector<Reader>& readers = readers_[id.index()];
    if (work_.tensors[id.index()].is_weight)
      explain_weight(id, chosen(weight_places_.at(id), best));
    const auto wanted_by = [&](const Reader& reader) -> const Layout& {
      return result_.nodes[reader.node.index()].inputs[reader.input];
    };
    const Layout made = result_.tensors[id.index()];
    const core::NodeId producer = graph_.tensor(id).producer;
    const core::NodeId first = readers[0].node;
    const core::NodeId keeper = producer.valid() ? producer : first;
    const auto view = views_.find(id);
    if (view == views_.end())
      return add_change({first, keeper}, id, made, wanted_by(readers[0]), keeping_of(id));
    const Layout& common = chosen(view->second, best);
    add_change({first, keeper}, id, made, common, keeping_of(id));
    for (const Reader& reader : readers)
      add_change({reader.node, reader.node}, id, common, wanted_by(reader),
                 {false, rereads(reader)});
  }

  void explain_weight(core::TensorId id, const Layout& layout) {
    result_.tensors[id.index()] = layout;
    result_.weights.push_back(weights_.held(id, work_.tensors[id.index()], layout));
    result_.parts.updates += result_.weights.back().update_us;
  }

  /// Which nodes pay for a change of layout, and for the memory that it leaves.
  struct Payers {
    core::NodeId time, memory;
  };

  void add_change(Payers payers, core::TensorId id, const Layout& from, const Layout& to,
                  Keeping keeping) {
    const TensorWork& tensor = work_.tensors[id.index()];
    const auto [at, is_new] = explained_.try_emplace(ChangeKey{
        {tensor.bytes, tensor.turns, tensor.is_weight, tensor.has_gradient, keeping}, from, to});
    if (is_new) at->second = explained(tensor, from, to, keeping);
    const LayoutChange& made = at->second.change;
    result_.costs[payers.memory.index()].kept_bytes += made.kept_bytes;
    NodeCost& cost = result_.costs[payers.time.index()];
    tell(payers.time, id, at->second.exchanges);
    if (tensor.is_weight) return exchange_weight(payers.time, tensor, from, to, made);
    const double passes = context_.options.recomputes ? 2 : 1;
    result_.parts.forward += made.forward.us;
    result_.parts.backward += made.again.us + made.backward.us + (passes - 1) * made.forward.us;
    cost.forward_conversion_us += made.forward.us;
    cost.backward_conversion_us += made.again.us + made.backward.us;
    cost.bytes_moved +=
        made.forward.bytes_moved * passes + made.again.bytes_moved + made.backward.bytes_moved;
  }

  ExplainedChange explained(const TensorWork& tensor, const Layout& from, const Layout& to,
                            Keeping keeping) const {
    ExplainedChange result{changes_.change(tensor, from, to, keeping), {}};
    const auto add = [&](NodeExchange::Pass pass, const Layout& a, const Layout& b) {
      for (const ConversionStep& step : conversion_steps(context_.mesh, tensor.bytes, a, b))
        result.exchanges.push_back({pass, 0, step});
    };
    using enum NodeExchange::Pass;
    if (result.change.forward.us > 0) add(kForward, from, to);
    if (result.change.again.us > 0) add(kBackward, from, to);
    if (result.change.backward.us > 0)
      add(tensor.is_weight && result.change.forward.us == 0 ? kSum : kBackward, gradient_layout(to),
          gradient_layout(from));
    return result;
  }

  void tell(core::NodeId reader, core::TensorId id, const std::vector<NodeExchange>& exchanges) {
    if (exchanges.empty()) return;
    const std::vector<core::TensorId>& inputs = graph_.node(reader).inputs;
    const auto input = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
    for (NodeExchange exchange : exchanges) {
      exchange.input = input;
      result_.costs[reader.index()].exchanges.push_back(exchange);
    }
  }

  void exchange_weight(core::NodeId reader, const TensorWork& tensor, const Layout& from,
                       const Layout& to, const LayoutChange& made) {
    NodeCost& cost = result_.costs[reader.index()];
    const bool is_gathered = made.forward.us > 0;
    if (is_gathered) {
      cost.bytes_moved +=
          made.forward.bytes_moved * changes_.weight_passes() + made.backward.bytes_moved;
      result_.parts.gathers += made.forward.us * changes_.weight_passes();
      result_.parts.scatters += made.backward.us;
    } else {
      cost.sum_bytes_moved += made.backward.bytes_moved;
      result_.parts.sums += made.backward.us;
    }
    if (is_gathered || made.backward.us > 0)
      result_.exchanges.push_back({reader, tensor.bytes, from, to, is_gathered});
  }

  const ShardingContext& context_;
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

}  // namespace

double weighted_us(const CostWeights& weights, const CostParts& parts) {
  return weights.forward * parts.forward + weights.backward * parts.backward +
         weights.gathers * parts.gathers + weights.scatters * parts.scatters +
         weights.sums * parts.sums + weights.updates * parts.updates;
}

Sharding best_sharding(const core::Graph& graph, const GraphLoops& loops, const StepWork& work,
                       const Mesh& mesh, const ComputeRates& rates, const ShardingOptions& options,
                       CostTables& tables) {
  const ShardingContext context{graph, loops, work, mesh, rates, options};
  ShardingProblem problem(context, tables);
  problem.pose();
  return problem.sharding_of(least_assignment(problem.costs(), tables, problem.elimination()));
}

void for_shardings(const core::Graph& graph, const GraphLoops& loops, const StepWork& work,
                   const Mesh& mesh, const ComputeRates& rates, const ShardingOptions& options,
                   CostTables& tables, const std::function<bool(Sharding)>& look) {
  const ShardingContext context{graph, loops, work, mesh, rates, options};
  ShardingProblem problem(context, tables);
  problem.pose();
  AscendingAssignments assignments(problem.costs(), tables, problem.elimination());
  while (const std::optional<Assignment> next = assignments.next())
    if (!look(problem.sharding_of(*next))) return;
}

}  // namespace soapstone::parallel
