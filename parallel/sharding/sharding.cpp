#include "parallel/sharding/sharding.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

using Layouts = std::vector<Layout>;

/// Where a node reads a tensor.
struct Reader {
  core::NodeId node;
  std::size_t input;
};

/// The costs of a change of layout, apart.
struct Change {
  Conversion forward, backward;
};

class ShardingProblem {
 public:
  ShardingProblem(const core::Graph& graph, const GraphLoops& loops, const StepWork& work,
                  const Mesh& mesh, const ComputeRates& rates, const ShardingOptions& options,
                  CostTables& tables)
      : graph_(graph), loops_(loops), work_(work), mesh_(mesh), rates_(rates), options_(options),
        tables_(tables) {}

  Sharding solve() {
    result_.nodes.resize(graph_.node_bound());
    result_.tensors.resize(graph_.tensor_bound());
    result_.costs.resize(graph_.node_bound());
    choices_.resize(graph_.node_bound());
    variable_of_node_.resize(graph_.node_bound());
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) add_node(id);
    collect_readers();
    for (std::size_t t = 0; t < readers_.size(); ++t)
      if (!readers_[t].empty()) connect_tensor(core::TensorId(t));
    const Assignment best = least_assignment(cost_graph_, tables_);
    result_.cost_us = best.cost;
    result_.lower_bound_us = best.lower_bound;
    if (best.cost < kImpossible) explain(best);
    return std::move(result_);
  }

 private:
  /// Variables stand for layouts: what a node makes, a weight or a shared copy (view) of a tensor.
  struct Place {
    CostVariableId variable;
    Layouts layouts;  ///< By choice.
  };

  void add_node(core::NodeId id) {
    std::vector<NodeChoice>& choices = choices_[id.index()];
    choices = node_choices(graph_, id, loops_, work_, mesh_, rates_, options_.choices);
    CostTable own{1, choices.size(), {}};
    for (const NodeChoice& choice : choices) own.costs.push_back(own_cost(id, choice));
    variable_of_node_[id.index()] = cost_graph_.add(tables_.intern(std::move(own)));
  }

  double own_cost(core::NodeId id, const NodeChoice& choice) const {
    const double again = options_.recomputes ? 1 : 0;
    double cost = (choice.forward_us * (1 + again) + choice.backward_us) *
                  options_.microbatch_weight;
    const core::Node& node = graph_.node(id);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!options_.recomputes)
        cost += kept_bytes(node.outputs[k], choice.outputs[k]) * options_.kept_microbatches *
                options_.us_per_byte;
      if (graph_.is_output(node.outputs[k])) {
        const double bytes = work_.tensors[node.outputs[k].index()].bytes;
        cost += convert(mesh_, bytes, without_sums(choice.outputs[k], true), Layout{}).us;
      }
    }
    return cost;
  }

  /// The layout with its sums alone, or without them: results of a model are summed, not gathered.
  static Layout without_sums(const Layout& layout, bool only_sums) {
    Layout result = layout;
    for (std::int8_t& use : result.axes)
      if ((use == kPartial) != only_sums) use = kReplicated;
    return result;
  }

  double kept_bytes(core::TensorId id, const Layout& layout) const {
    const TensorWork& tensor = work_.tensors[id.index()];
    if (!tensor.is_kept) return 0;
    return tensor.bytes / static_cast<double>(pieces(layout, mesh_.axis_sizes()));
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
        const bool is_computed = graph_.tensor(input).producer.valid() &&
                                 !graph_.is_constant_expression(input);
        if (is_computed || work_.tensors[input.index()].is_weight)
          readers_[input.index()].push_back({id, k});
      }
    }
  }

  Layouts input_layouts(const Reader& reader) const {
    Layouts layouts;
    for (const NodeChoice& choice : choices_[reader.node.index()])
      layouts.push_back(choice.inputs[reader.input]);
    return layouts;
  }

  void connect_tensor(core::TensorId id) {
    const std::vector<Reader>& readers = readers_[id.index()];
    Place source = work_.tensors[id.index()].is_weight ? weight(id) : produced(id);
    if (readers.size() > 1) {
      Place view = shared(readers);
      connect(id, source, view);
      views_.emplace(id, view);
      source = std::move(view);
    }
    for (const Reader& reader : readers)
      connect(id, source, {variable_of_node_[reader.node.index()], input_layouts(reader)});
  }

  Place produced(core::TensorId id) const {
    const core::Tensor& tensor = graph_.tensor(id);
    Place place{variable_of_node_[tensor.producer.index()], {}};
    for (const NodeChoice& choice : choices_[tensor.producer.index()])
      place.layouts.push_back(choice.outputs[tensor.output_index]);
    return place;
  }

  /// A copy that several readers share, in any layout that one of them wants.
  Place shared(const std::vector<Reader>& readers) {
    Place view;
    for (const Reader& reader : readers)
      for (const Layout& layout : input_layouts(reader)) view.layouts.push_back(layout);
    std::sort(view.layouts.begin(), view.layouts.end());
    view.layouts.erase(std::unique(view.layouts.begin(), view.layouts.end()),
                       view.layouts.end());
    view.variable = cost_graph_.add(
        tables_.intern({1, view.layouts.size(), std::vector<double>(view.layouts.size(), 0.0)}));
    return view;
  }

  Place weight(core::TensorId id) {
    Place place;
    const auto dims = core::concrete(graph_.tensor(id).type.shape);
    CHECK(dims, "a weight without sizes");
    Layout now;
    lay_weight(*dims, wanted_digits(id), 0, now, place.layouts);
    CostTable own{1, place.layouts.size(), {}};
    for (const Layout& layout : place.layouts)
      own.costs.push_back(weight_memory(id, layout) * options_.us_per_byte +
                          update_us(id, layout));
    place.variable = cost_graph_.add(tables_.intern(std::move(own)));
    weights_.emplace(id, place);
    return place;
  }

  /// By axis: the digits that readers want the weight cut along.
  std::array<std::set<std::int8_t>, kMostAxes> wanted_digits(core::TensorId id) const {
    std::array<std::set<std::int8_t>, kMostAxes> wanted;
    for (const Reader& reader : readers_[id.index()])
      for (const Layout& layout : input_layouts(reader))
        for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
          if (layout.axes[a] >= 0) wanted[a].insert(layout.axes[a]);
    return wanted;
  }

  void lay_weight(const core::Dims& dims,
                  const std::array<std::set<std::int8_t>, kMostAxes>& wanted, std::size_t axis,
                  Layout& now, Layouts& all) const {
    if (axis == mesh_.axis_count()) {
      all.push_back(now);
      return;
    }
    std::set<std::int8_t> digits = wanted[axis];
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d] >= mesh_.device_count()) digits.insert(static_cast<std::int8_t>(d));
    digits.insert(kReplicated);
    for (const std::int8_t digit : digits) {
      now.axes[axis] = digit;
      lay_weight(dims, wanted, axis + 1, now, all);
    }
    now.axes[axis] = kReplicated;
  }

  double weight_bytes(core::TensorId id, const Layout& layout) const {
    return work_.tensors[id.index()].bytes /
           static_cast<double>(pieces(layout, mesh_.axis_sizes()));
  }
  double state_bytes(core::TensorId id, const Layout& layout) const {
    const double bytes = weight_bytes(id, layout) * options_.state_bytes_per_weight_byte;
    if (!options_.cuts_states) return bytes;
    double spread = 1;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (layout.axes[a] < 0) spread *= static_cast<double>(mesh_.axis_sizes()[a]);
    return bytes / spread;
  }
  double weight_memory(core::TensorId id, const Layout& layout) const {
    return weight_bytes(id, layout) * options_.bytes_per_weight_byte + state_bytes(id, layout);
  }
  /// The optimizer reads and writes everything that belongs to the weight once a step.
  double update_us(core::TensorId id, const Layout& layout) const {
    if (!options_.is_training) return 0;
    const double bytes = 2 * weight_memory(id, layout);
    return rates_.us(core::DataType::kFloat32, 0, bytes, false);
  }

  /// A weight that is cut is gathered before each pass of each microbatch; one that is whole has its
  /// gradient summed once a step.
  Change change(core::TensorId id, const Layout& from, const Layout& to) const {
    const TensorWork& tensor = work_.tensors[id.index()];
    Change change{convert(mesh_, tensor.bytes, from, to), {}};
    if (tensor.has_gradient) change.backward = convert_gradient(mesh_, tensor.bytes, from, to);
    return change;
  }

  bool is_allowed(core::TensorId id, const Layout& from, const Layout& to) const {
    if (options_.cuts_weights || !work_.tensors[id.index()].is_weight) return true;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (from.axes[a] >= 0 && to.axes[a] < 0) return false;
    return true;
  }

  double weighed(core::TensorId id, const Change& change) const {
    const double again = options_.recomputes ? 1 : 0;
    if (!work_.tensors[id.index()].is_weight)
      return (change.forward.us * (1 + again) + change.backward.us) * options_.microbatch_weight;
    const double passes = options_.is_training ? 2 + again : 1;
    const double sums = change.forward.us > 0 ? options_.microbatch_weight : 1;
    return change.forward.us * passes * options_.microbatch_weight + change.backward.us * sums;
  }

  struct TableKey {
    double bytes;
    bool is_weight, has_gradient;
    Layouts from, to;
    auto operator<=>(const TableKey&) const = default;
  };

  void connect(core::TensorId id, const Place& from, const Place& to) {
    const TensorWork& tensor = work_.tensors[id.index()];
    const TableKey key{tensor.bytes, tensor.is_weight, tensor.has_gradient, from.layouts,
                       to.layouts};
    auto known = edge_tables_.find(key);
    if (known == edge_tables_.end()) {
      CostTable table{from.layouts.size(), to.layouts.size(), {}};
      std::map<std::pair<Layout, Layout>, double> costs;
      for (const Layout& a : from.layouts)
        for (const Layout& b : to.layouts) {
          const auto [at, is_new] = costs.try_emplace({a, b}, kImpossible);
          if (is_new && is_allowed(id, a, b)) at->second = weighed(id, change(id, a, b));
          table.costs.push_back(at->second);
        }
      known = edge_tables_.emplace(key, tables_.intern(std::move(table))).first;
    }
    cost_graph_.connect(from.variable, to.variable, known->second);
  }

  void explain(const Assignment& best) {
    for (const core::NodeId id : graph_.order()) {
      if (graph_.is_constant_expression(id)) continue;
      const NodeChoice& choice =
          choices_[id.index()][best.choices[variable_of_node_[id.index()].index()]];
      const core::Node& node = graph_.node(id);
      NodeCost& cost = result_.costs[id.index()];
      cost.forward_us = choice.forward_us;
      cost.backward_us = choice.backward_us;
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        result_.tensors[node.outputs[k].index()] = choice.outputs[k];
        cost.kept_bytes += kept_bytes(node.outputs[k], choice.outputs[k]);
      }
      result_.nodes[id.index()] = choice;
    }
    for (std::size_t t = 0; t < readers_.size(); ++t)
      if (!readers_[t].empty()) explain_tensor(core::TensorId(t), best);
  }

  void explain_tensor(core::TensorId id, const Assignment& best) {
    const bool is_weight = work_.tensors[id.index()].is_weight;
    Layout from = result_.tensors[id.index()];
    if (is_weight) {
      const Place& place = weights_.at(id);
      from = place.layouts[best.choices[place.variable.index()]];
      result_.tensors[id.index()] = from;
      NodeCost& first = result_.costs[readers_[id.index()][0].node.index()];
      first.weight_bytes += weight_bytes(id, from) * options_.bytes_per_weight_byte;
      first.state_bytes += state_bytes(id, from);
    }
    const auto view = views_.find(id);
    if (view != views_.end()) {
      const Layout shared = view->second.layouts[best.choices[view->second.variable.index()]];
      add_change(readers_[id.index()][0].node, id, from, shared);
      from = shared;
    }
    for (const Reader& reader : readers_[id.index()])
      add_change(reader.node, id, from, result_.nodes[reader.node.index()].inputs[reader.input]);
  }

  void add_change(core::NodeId node, core::TensorId id, const Layout& from, const Layout& to) {
    const Change made = change(id, from, to);
    NodeCost& cost = result_.costs[node.index()];
    if (work_.tensors[id.index()].is_weight) {
      cost.gather_us += made.forward.us * (options_.is_training ? 2 : 1);
      if (made.forward.us > 0)
        cost.backward_conversion_us += made.backward.us;
      else
        cost.gradient_sum_us += made.backward.us;
    } else {
      cost.forward_conversion_us += made.forward.us;
      cost.backward_conversion_us += made.backward.us;
    }
    cost.bytes_moved += made.forward.bytes_moved + made.backward.bytes_moved;
  }

  const core::Graph& graph_;
  const GraphLoops& loops_;
  const StepWork& work_;
  const Mesh& mesh_;
  const ComputeRates& rates_;
  const ShardingOptions& options_;
  CostTables& tables_;
  CostGraph cost_graph_;
  std::vector<std::vector<NodeChoice>> choices_;  // by node
  std::vector<CostVariableId> variable_of_node_;
  std::vector<std::vector<Reader>> readers_;  // by tensor
  std::map<core::TensorId, Place> weights_, views_;
  std::map<TableKey, CostTableId> edge_tables_;
  Sharding result_;
};

}  // namespace

Sharding best_sharding(const core::Graph& graph, const GraphLoops& loops, const StepWork& work,
                       const Mesh& mesh, const ComputeRates& rates, const ShardingOptions& options,
                       CostTables& tables) {
  return ShardingProblem(graph, loops, work, mesh, rates, options, tables).solve();
}

}  // namespace soapstone::parallel
