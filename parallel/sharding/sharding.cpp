#include "parallel/sharding/sharding.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/base/check.h"
#include "core/base/hash.h"

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
    kinds_.resize(graph_.node_bound());
    variable_of_node_.resize(graph_.node_bound());
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) add_node(id);
    collect_readers();
    for (std::size_t t = 0; t < readers_.size(); ++t)
      if (!readers_[t].empty()) connect_tensor(core::TensorId(t));
    const Assignment best = least_assignment(cost_graph_, tables_, {options_.most_cases});
    result_.cost_us = best.cost;
    result_.lower_bound_us = best.lower_bound;
    if (best.cost < kImpossible) explain(best);
    return std::move(result_);
  }

 private:
  /// Lists of layouts have numbers, so that equal ones are recognized.
  using ListId = std::size_t;

  /// Variables stand for layouts: what a node makes, a weight or a shared copy (view) of a tensor.
  struct Place {
    CostVariableId variable;
    ListId layouts = 0;  ///< By choice.
  };

  /// What nodes that are alike have in common.
  struct Kind {
    std::vector<NodeChoice> choices;
    CostTableId costs;
    std::vector<ListId> inputs, outputs;
  };

  ListId numbered(Layouts layouts) {
    const auto [at, is_new] = list_numbers_.try_emplace(std::move(layouts), lists_.size());
    if (is_new) lists_.push_back(&at->first);
    return at->second;
  }
  const Layouts& list(ListId id) const { return *lists_[id]; }

  void add_node(core::NodeId id) {
    const auto [at, is_new] = known_kinds_.try_emplace(kind_hash(id));
    Kind& kind = at->second;
    if (is_new) fill(id, kind);
    kinds_[id.index()] = &kind;
    variable_of_node_[id.index()] = cost_graph_.add(kind.costs);
  }

  void fill(core::NodeId id, Kind& kind) {
    NodeChoices made = node_choices(graph_, id, loops_, work_, mesh_, rates_, options_.choices);
    kind.choices = std::move(made.all);
    if (!made.obeys_policies && !result_.disobeys.valid()) result_.disobeys = id;
    CostTable own{1, kind.choices.size(), {}};
    for (const NodeChoice& choice : kind.choices) own.costs.push_back(own_cost(id, choice));
    kind.costs = tables_.intern(std::move(own));
    const core::Node& node = graph_.node(id);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      Layouts layouts;
      for (const NodeChoice& choice : kind.choices) layouts.push_back(choice.inputs[k]);
      kind.inputs.push_back(numbered(std::move(layouts)));
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Layouts layouts;
      for (const NodeChoice& choice : kind.choices) layouts.push_back(choice.outputs[k]);
      kind.outputs.push_back(numbered(std::move(layouts)));
    }
  }

  /// A hash of all that choices and their costs depend on.
  std::uint64_t kind_hash(core::NodeId id) const {
    const core::Node& node = graph_.node(id);
    const NodeWork& work = work_.nodes[id.index()];
    std::uint64_t hash = core::hash_combine(node.local_hash, work.starts_launch ? 1 : 0);
    hash = core::hash_combine(hash, work.runs_again ? 1 : 0);
    if (!options_.choices.fixed.empty())
      for (const std::int8_t loop : options_.choices.fixed[id.index()])
        hash = core::hash_combine(hash, static_cast<std::uint8_t>(loop));
    for (const Origin origin : loops_.origins[id.index()])
      hash = core::hash_combine(hash, static_cast<std::uint64_t>(origin));
    for (const core::TensorId input : node.inputs) {
      if (!input.valid()) continue;
      hash = core::hash_combine(hash, tensor_hash(input));
      for (const core::Size& size : graph_.tensor(input).type.shape)
        hash = core::hash_combine(hash, static_cast<std::uint64_t>(size.as_constant().value_or(0)));
    }
    for (const core::TensorId output : node.outputs)
      hash = core::hash_combine(core::hash_combine(hash, tensor_hash(output)),
                                graph_.is_output(output) ? 1 : 0);
    return hash;
  }

  std::uint64_t tensor_hash(core::TensorId id) const {
    const TensorWork& tensor = work_.tensors[id.index()];
    const std::uint64_t flags = (tensor.is_weight ? 1u : 0u) | (tensor.has_gradient ? 2u : 0u) |
                                (tensor.is_kept ? 4u : 0u) | (tensor.is_stored ? 8u : 0u);
    return core::hash_combine(flags, static_cast<std::uint64_t>(tensor.bytes));
  }

  double own_cost(core::NodeId id, const NodeChoice& choice) const {
    const double again = options_.recomputes ? 1 : 0;
    return (choice.forward_us * (1 + again) + choice.backward_us + result_sums(id, choice).us) *
           options_.microbatch_weight;
  }

  /// Results of the model are summed, not gathered.
  Conversion result_sums(core::NodeId id, const NodeChoice& choice) const {
    Conversion total;
    const core::Node& node = graph_.node(id);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!graph_.is_output(node.outputs[k])) continue;
      Layout whole = choice.outputs[k];
      std::replace(whole.axes.begin(), whole.axes.end(), std::int8_t{kPartial},
                   std::int8_t{kReplicated});
      total +=
          convert(mesh_, work_.tensors[node.outputs[k].index()].bytes, choice.outputs[k], whole);
    }
    return total;
  }

  /// Memory that a tensor takes which is kept for gradients: as it is made or as it is read,
  /// whichever is less. Partial sums are not kept.
  double kept_bytes(core::TensorId id, const Layout& from, const Layout& to) const {
    const TensorWork& tensor = work_.tensors[id.index()];
    if (!tensor.is_kept) return 0;
    double parts = mesh_.memory_pieces(to);
    const bool is_partial =
        std::find(from.axes.begin(), from.axes.end(), kPartial) != from.axes.end();
    if (!is_partial) parts = std::max(parts, mesh_.memory_pieces(from));
    return tensor.bytes / parts;
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

  ListId input_list(const Reader& reader) const {
    return kinds_[reader.node.index()]->inputs[reader.input];
  }

  void connect_tensor(core::TensorId id) {
    const std::vector<Reader>& readers = readers_[id.index()];
    Place source = work_.tensors[id.index()].is_weight ? weight(id) : produced(id);
    if (readers.size() > 1) {
      const Place view = shared(readers);
      connect(id, source, view, true);
      views_.emplace(id, view);
      source = view;
    }
    for (const Reader& reader : readers)
      connect(id, source, {variable_of_node_[reader.node.index()], input_list(reader)},
              readers.size() == 1);
  }

  Place produced(core::TensorId id) const {
    const core::Tensor& tensor = graph_.tensor(id);
    const std::size_t producer = tensor.producer.index();
    return {variable_of_node_[producer], kinds_[producer]->outputs[tensor.output_index]};
  }

  std::vector<ListId> lists_of(const std::vector<Reader>& readers) const {
    std::vector<ListId> lists;
    for (const Reader& reader : readers) lists.push_back(input_list(reader));
    std::sort(lists.begin(), lists.end());
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
    return lists;
  }

  /// A copy that several readers share, in any layout that one of them wants.
  Place shared(const std::vector<Reader>& readers) {
    const auto [at, is_new] = unions_.try_emplace(lists_of(readers), 0);
    if (is_new) {
      std::set<Layout> layouts;
      for (const ListId wanted : at->first)
        layouts.insert(list(wanted).begin(), list(wanted).end());
      at->second = numbered({layouts.begin(), layouts.end()});
    }
    const std::size_t count = list(at->second).size();
    return {cost_graph_.add(tables_.intern({1, count, std::vector<double>(count, 0.0)})),
            at->second};
  }

  Place weight(core::TensorId id) {
    const auto dims = core::concrete(graph_.tensor(id).type.shape);
    CHECK(dims, "a weight without sizes");
    WeightKey key{*dims, work_.tensors[id.index()].bytes, lists_of(readers_[id.index()])};
    const auto [at, is_new] = weight_kinds_.try_emplace(std::move(key));
    if (is_new) {
      Layouts layouts;
      Layout now;
      lay_weight(*dims, wanted_digits(at->first.readers), 0, now, layouts);
      CostTable own{1, layouts.size(), {}};
      for (const Layout& layout : layouts)
        own.costs.push_back(weight_memory(id, layout) * options_.us_per_byte +
                            update_us(id, layout));
      at->second = {tables_.intern(std::move(own)), numbered(std::move(layouts))};
    }
    const Place place{cost_graph_.add(at->second.first), at->second.second};
    weights_.emplace(id, place);
    return place;
  }

  /// By axis: the digits that readers want the weight cut along.
  std::vector<std::set<std::int8_t>> wanted_digits(const std::vector<ListId>& readers) const {
    std::vector<std::set<std::int8_t>> wanted(mesh_.axis_count());
    for (const ListId reader : readers)
      for (const Layout& layout : list(reader))
        for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
          if (layout.axes[a] >= 0) wanted[a].insert(layout.axes[a]);
    return wanted;
  }

  void lay_weight(const core::Dims& dims, const std::vector<std::set<std::int8_t>>& wanted,
                  std::size_t axis, Layout& now, Layouts& all) const {
    if (axis >= mesh_.axis_count() || axis >= now.axes.size()) {
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
    return work_.tensors[id.index()].bytes / mesh_.memory_pieces(layout);
  }
  /// Devices that hold the same piece.
  double copies(const Layout& layout) const {
    double count = 1;
    for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
      if (layout.axes[a] < 0) count *= static_cast<double>(mesh_.axis_sizes()[a]);
    return count;
  }
  double state_bytes(core::TensorId id, const Layout& layout) const {
    const double bytes = weight_bytes(id, layout) * options_.state_bytes_per_weight_byte;
    return options_.cuts_states ? bytes / copies(layout) : bytes;
  }
  double gradient_bytes(core::TensorId id, const Layout& layout) const {
    const double bytes = weight_bytes(id, layout) * options_.gradient_bytes_per_weight_byte;
    return options_.cuts_gradients ? bytes / copies(layout) : bytes;
  }
  double weight_memory(core::TensorId id, const Layout& layout) const {
    return weight_bytes(id, layout) + gradient_bytes(id, layout) + state_bytes(id, layout);
  }
  /// The optimizer reads and writes weights and states and reads gradients once a step.
  double update_us(core::TensorId id, const Layout& layout) const {
    if (!options_.is_training) return 0;
    constexpr double kPassesOverWeights = 3, kPassesOverStates = 2;
    const double bytes =
        kPassesOverWeights * weight_bytes(id, layout) + kPassesOverStates * state_bytes(id, layout);
    const double balance = mesh_.memory_pieces(layout) / mesh_.time_pieces(layout);
    return bytes * balance / (rates_.bytes_per_s * rates_.streaming_efficiency) * 1e6;
  }

  /// A weight that is cut is gathered before each pass of each microbatch; one that is whole has
  /// its gradient summed once a step.
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

  /// How often the passes of a microbatch need a weight.
  double weight_passes() const {
    if (!options_.is_training) return 1;
    return options_.recomputes ? 3 : 2;
  }

  double weighed(core::TensorId id, const Change& change) const {
    const double again = options_.recomputes ? 1 : 0;
    if (!work_.tensors[id.index()].is_weight)
      return (change.forward.us * (1 + again) + change.backward.us) * options_.microbatch_weight;
    const double passes = weight_passes();
    const double sums = change.forward.us > 0 ? options_.microbatch_weight : options_.sum_weight;
    return change.forward.us * passes * options_.microbatch_weight + change.backward.us * sums;
  }

  struct TableKey {
    double bytes;
    bool is_weight, has_gradient, is_kept;
    ListId from, to;
    auto operator<=>(const TableKey&) const = default;
  };
  struct WeightKey {
    core::Dims dims;
    double bytes;
    std::vector<ListId> readers;
    auto operator<=>(const WeightKey&) const = default;
  };

  /// `is_first`: the change from what the producer made; it also pays for what is kept.
  void connect(core::TensorId id, const Place& from, const Place& to, bool is_first) {
    const TensorWork& tensor = work_.tensors[id.index()];
    const bool pays = is_first && tensor.is_kept && !options_.recomputes;
    const TableKey key{tensor.bytes, tensor.is_weight, tensor.has_gradient,
                       pays,         from.layouts,     to.layouts};
    const auto [at, is_new] = edge_tables_.try_emplace(key);
    if (is_new) at->second = edge_table(id, list(from.layouts), list(to.layouts), pays);
    cost_graph_.connect(from.variable, to.variable, at->second);
  }

  CostTableId edge_table(core::TensorId id, const Layouts& from, const Layouts& to,
                         bool pays_memory) {
    const double us_per_byte = pays_memory ? options_.us_per_byte * options_.kept_microbatches : 0;
    CostTable table{from.size(), to.size(), {}};
    table.costs.reserve(from.size() * to.size());
    std::map<std::pair<Layout, Layout>, double> costs;
    for (const Layout& a : from)
      for (const Layout& b : to) {
        const auto [at, is_new] = costs.try_emplace({a, b}, kImpossible);
        if (is_new && is_allowed(id, a, b)) {
          at->second = weighed(id, change(id, a, b));
          if (us_per_byte > 0) at->second += kept_bytes(id, a, b) * us_per_byte;
        }
        table.costs.push_back(at->second);
      }
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
      const Conversion sums = result_sums(id, choice);
      cost.forward_conversion_us += sums.us;
      cost.bytes_moved += sums.bytes_moved;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        result_.tensors[node.outputs[k].index()] = choice.outputs[k];
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
      from = list(place.layouts)[best.choices[place.variable.index()]];
      result_.tensors[id.index()] = from;
      NodeCost& first = result_.costs[readers_[id.index()][0].node.index()];
      first.weight_bytes += weight_bytes(id, from) + gradient_bytes(id, from);
      first.state_bytes += state_bytes(id, from);
      first.update_us += update_us(id, from);
    }
    const auto keep = [&](const Layout& to) {
      const core::NodeId producer = graph_.tensor(id).producer;
      if (producer.valid()) result_.costs[producer.index()].kept_bytes += kept_bytes(id, from, to);
    };
    const auto view = views_.find(id);
    if (view == views_.end()) {
      const Reader& reader = readers_[id.index()][0];
      keep(result_.nodes[reader.node.index()].inputs[reader.input]);
    } else {
      const Layout shared = list(view->second.layouts)[best.choices[view->second.variable.index()]];
      keep(shared);
      add_change(readers_[id.index()][0].node, id, from, shared);
      from = shared;
    }
    for (const Reader& reader : readers_[id.index()])
      add_change(reader.node, id, from, result_.nodes[reader.node.index()].inputs[reader.input]);
  }

  void add_change(core::NodeId node, core::TensorId id, const Layout& from, const Layout& to) {
    const Change made = change(id, from, to);
    NodeCost& cost = result_.costs[node.index()];
    const bool is_weight = work_.tensors[id.index()].is_weight;
    if (is_weight && made.forward.us == 0) {
      cost.gradient_sum_us += made.backward.us;
      cost.sum_bytes_moved += made.backward.bytes_moved;
      return;
    }
    const double passes = is_weight ? weight_passes() : options_.recomputes ? 2 : 1;
    if (is_weight)
      cost.gather_us += made.forward.us * passes;
    else
      cost.forward_conversion_us += made.forward.us;
    cost.backward_conversion_us += made.backward.us;
    cost.bytes_moved += made.forward.bytes_moved * passes + made.backward.bytes_moved;
  }

  const core::Graph& graph_;
  const GraphLoops& loops_;
  const StepWork& work_;
  const Mesh& mesh_;
  const ComputeRates& rates_;
  const ShardingOptions& options_;
  CostTables& tables_;
  CostGraph cost_graph_;
  std::vector<const Kind*> kinds_;  // by node
  std::unordered_map<std::uint64_t, Kind> known_kinds_;
  std::map<Layouts, ListId> list_numbers_;
  std::vector<const Layouts*> lists_;  // keys of list_numbers_
  std::map<std::vector<ListId>, ListId> unions_;
  std::map<WeightKey, std::pair<CostTableId, ListId>> weight_kinds_;
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
