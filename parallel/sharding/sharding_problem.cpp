#include "parallel/sharding/sharding_problem.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::parallel {

ShardingProblem::ShardingProblem(const ShardingContext& context, CostTables& tables)
    : context_(context), graph_(context.graph), work_(context.work), tables_(tables),
      nodes_(context_, tables, lists_),
      weights_(context.mesh, context.rates, context.loops.digits, context.options),
      changes_(context.mesh, context.options) {
  kinds_.resize(graph_.node_bound());
  variable_of_node_.resize(graph_.node_bound());
  for (const core::NodeId id : graph_.order())
    if (!graph_.is_constant_expression(id)) add_node(id);
  collect_readers();
  for (std::size_t t = 0; t < readers_.size(); ++t)
    if (!readers_[t].empty()) connect_tensor(core::TensorId(t));
}

std::vector<WeightVariable> ShardingProblem::weights() const {
  std::vector<WeightVariable> weights;
  for (const auto& [tensor, place] : weight_places_) weights.push_back({tensor, place.variable});
  return weights;
}

Sharding ShardingProblem::sharding_of(const Assignment& assignment) {
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

void ShardingProblem::add_node(core::NodeId id) {
  const NodeKind& kind = nodes_.of(id);
  if (!kind.obeys_policies && !disobeys_.valid()) disobeys_ = id;
  kinds_[id.index()] = &kind;
  variable_of_node_[id.index()] = cost_graph_.add(kind.costs);
}

void ShardingProblem::collect_readers() {
  readers_.resize(graph_.tensor_bound());
  for (const core::NodeId id : graph_.order()) {
    if (graph_.is_constant_expression(id)) continue;
    const core::Node& node = graph_.node(id);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const core::TensorId input = node.inputs[k];
      // Constants that are no weights are made at the place that needs them, and inputs arrive as
      // they are wanted.
      if (!input.valid()) continue;
      const bool is_computed =
          graph_.tensor(input).producer.valid() && !graph_.is_constant_expression(input);
      if (is_computed || work_.tensors[input.index()].is_weight)
        readers_[input.index()].push_back({id, k});
    }
  }
}

LayoutListId ShardingProblem::input_list(const Reader& reader) const {
  return kinds_[reader.node.index()]->inputs[reader.input];
}

bool ShardingProblem::rereads(const Reader& reader) const {
  const NodeWork& node = work_.nodes[reader.node.index()];
  return node.runs_again || (reader.input < node.rereads.size() && node.rereads[reader.input]);
}

/// From the producer to the only reader, or to the copy that readers share.
Keeping ShardingProblem::keeping_of(core::TensorId id) const {
  const std::vector<Reader>& readers = readers_[id.index()];
  return {work_.tensors[id.index()].is_kept,
          std::ranges::any_of(readers, [&](const Reader& reader) { return rereads(reader); })};
}

void ShardingProblem::connect_tensor(core::TensorId id) {
  const std::vector<Reader>& readers = readers_[id.index()];
  const Place source = work_.tensors[id.index()].is_weight ? weight(id) : produced(id);
  if (readers.size() == 1) return connect(id, source, place_of(readers[0]), keeping_of(id));
  const Place view = shared(readers, work_.tensors[id.index()].is_weight);
  connect(id, source, view, keeping_of(id));
  views_.emplace(id, view);
  for (const Reader& reader : readers)
    connect(id, view, place_of(reader), {false, rereads(reader)});
}

ShardingProblem::Place ShardingProblem::place_of(const Reader& reader) const {
  return {variable_of_node_[reader.node.index()], input_list(reader)};
}

ShardingProblem::Place ShardingProblem::produced(core::TensorId id) const {
  const core::Tensor& tensor = graph_.tensor(id);
  const std::size_t producer = tensor.producer.index();
  return {variable_of_node_[producer], kinds_[producer]->outputs[tensor.output_index]};
}

std::vector<LayoutListId> ShardingProblem::lists_of(const std::vector<Reader>& readers) const {
  std::vector<LayoutListId> lists;
  for (const Reader& reader : readers) lists.push_back(input_list(reader));
  std::ranges::sort(lists);
  lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
  return lists;
}

/// A copy that several readers share, in any layout that one of them wants.
ShardingProblem::Place ShardingProblem::shared(const std::vector<Reader>& readers, bool is_weight) {
  LayoutListId layouts = lists_.union_of(lists_of(readers));
  if (is_weight && context_.options.always_cuts_weights)
    layouts = lists_.add(summed_early(lists_[layouts].by_choice));
  const std::size_t count = lists_[layouts].by_choice.size();
  return {cost_graph_.add(tables_.intern({1, count, std::vector<double>(count, 0.0)})), layouts};
}

/// Without copies whose gradient a reader has to sum, if another copy arrives as it is read: the
/// gradient of a weight that is cut is scattered where the weight is gathered, and summed
/// nowhere.
std::vector<Layout> ShardingProblem::summed_early(std::vector<Layout> layouts) const {
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

ShardingProblem::Place ShardingProblem::weight(core::TensorId id) {
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

/// Lists, by axis, the digits that readers want the weight cut along.
std::vector<std::set<std::int8_t>>
ShardingProblem::wanted_digits(const std::vector<LayoutListId>& readers) const {
  std::vector<std::set<std::int8_t>> wanted(context_.mesh.axis_count());
  for (const LayoutListId reader : readers)
    for (const Layout& layout : lists_[reader].different)
      for (std::size_t a = 0; a < context_.mesh.axis_count(); ++a)
        if (layout.axes[a] >= 0) wanted[a].insert(layout.axes[a]);
  return wanted;
}

void ShardingProblem::connect(core::TensorId id, const Place& from, const Place& to,
                              Keeping keeping) {
  const TensorWork& tensor = work_.tensors[id.index()];
  if (tensor.is_weight) keeping = {};
  const TableKey key{{tensor.bytes, tensor.turns, tensor.is_weight, tensor.has_gradient, keeping},
                     from.layouts,
                     to.layouts};
  const auto [at, is_new] = edge_tables_.try_emplace(key);
  if (is_new) at->second = edge_table(tensor, lists_[from.layouts], lists_[to.layouts], keeping);
  cost_graph_.connect(from.variable, to.variable, at->second);
}

CostTableId ShardingProblem::edge_table(const TensorWork& tensor, const LayoutLists::List& from,
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

void ShardingProblem::explain(const Assignment& best) {
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
    cost.bytes_moved += sums.bytes_moved;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      result_.tensors[node.outputs[k].index()] = choice.outputs[k];
    result_.nodes[id.index()] = choice;
  }
  for (std::size_t t = 0; t < readers_.size(); ++t)
    if (!readers_[t].empty()) explain_tensor(core::TensorId(t), best);
  add_passes();
}

void ShardingProblem::add_passes() {
  PartTime& passes = result_.parts.passes.emplace_back();
  for (const core::NodeId id : graph_.order()) {
    if (graph_.is_constant_expression(id)) continue;
    const PartTime node =
        passes_of(result_.costs[id.index()], nodes_.counted(result_.nodes[id.index()]),
                  context_.options.recomputes);
    passes.forward_us += node.forward_us;
    passes.backward_us += node.backward_us;
  }
}

const Layout& ShardingProblem::chosen(const Place& place, const Assignment& best) const {
  return lists_[place.layouts].by_choice[best.choices[place.variable.index()]];
}

void ShardingProblem::explain_tensor(core::TensorId id, const Assignment& best) {
  const std::vector<Reader>& readers = readers_[id.index()];
  if (work_.tensors[id.index()].is_weight) explain_weight(id, chosen(weight_places_.at(id), best));
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
    add_change({reader.node, reader.node}, id, common, wanted_by(reader), {false, rereads(reader)});
}

void ShardingProblem::explain_weight(core::TensorId id, const Layout& layout) {
  result_.tensors[id.index()] = layout;
  result_.weights.push_back(weights_.held(id, work_.tensors[id.index()], layout));
  result_.parts.updated_us += result_.weights.back().update_us;
}

void ShardingProblem::add_change(Payers payers, core::TensorId id, const Layout& from,
                                 const Layout& to, Keeping keeping) {
  const TensorWork& tensor = work_.tensors[id.index()];
  const auto [at, is_new] = explained_.try_emplace(ChangeKey{
      {tensor.bytes, tensor.turns, tensor.is_weight, tensor.has_gradient, keeping}, from, to});
  if (is_new) at->second = explained(tensor, from, to, keeping);
  const LayoutChange& made = at->second.change;
  result_.costs[payers.memory.index()].kept_bytes += made.kept_bytes;
  NodeCost& cost = result_.costs[payers.time.index()];
  tell(payers.time, id, at->second.exchanges);
  if (tensor.is_weight) {
    if (const auto exchange = priced(payers.time, tensor, from, to, made)) {
      count_exchange(cost, *exchange, made);
      result_.exchanges.push_back(exchange->exchange);
    }
    return;
  }
  const double passes = context_.options.recomputes ? 2 : 1;
  cost.forward_conversion_us += made.forward.us;
  cost.backward_conversion_us += made.again.us + made.backward.us;
  cost.bytes_moved +=
      made.forward.bytes_moved * passes + made.again.bytes_moved + made.backward.bytes_moved;
}

ShardingProblem::ExplainedChange ShardingProblem::explained(const TensorWork& tensor,
                                                            const Layout& from, const Layout& to,
                                                            Keeping keeping) const {
  ExplainedChange result{changes_.change(tensor, from, to, keeping), {}};
  const auto add = [&](NodeExchange::Pass pass, const Layout& a, const Layout& b) {
    for (ConversionStep step : conversion_steps(context_.mesh, tensor.bytes / tensor.turns, a, b)) {
      step.us *= tensor.turns;
      result.exchanges.push_back({pass, 0, step});
    }
  };
  using enum NodeExchange::Pass;
  if (result.change.forward.us > 0) add(kForward, from, to);
  if (result.change.again.us > 0) add(kBackward, from, to);
  if (result.change.backward.us > 0)
    add(tensor.is_weight && result.change.forward.us == 0 ? kSum : kBackward, gradient_layout(to),
        gradient_layout(from));
  return result;
}

void ShardingProblem::tell(core::NodeId reader, core::TensorId id,
                           const std::vector<NodeExchange>& exchanges) {
  if (exchanges.empty()) return;
  const std::vector<core::TensorId>& inputs = graph_.node(reader).inputs;
  const auto input = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
  for (NodeExchange exchange : exchanges) {
    exchange.input = input;
    result_.costs[reader.index()].exchanges.push_back(exchange);
  }
}

std::optional<PricedExchange> ShardingProblem::exchange_of(core::NodeId reader,
                                                           const TensorWork& weight,
                                                           const Layout& from,
                                                           const Layout& to) const {
  return priced(reader, weight, from, to, changes_.change(weight, from, to, {}));
}

std::optional<PricedExchange> ShardingProblem::priced(core::NodeId reader, const TensorWork& weight,
                                                      const Layout& from, const Layout& to,
                                                      const LayoutChange& made) {
  if (made.forward.us == 0 && made.backward.us == 0) return std::nullopt;
  return PricedExchange{
      {reader, weight.bytes, from, to, made.forward.us > 0}, made.forward.us, made.backward.us};
}

void ShardingProblem::count_exchange(NodeCost& cost, const PricedExchange& exchange,
                                     const LayoutChange& made) {
  if (exchange.exchange.is_gathered)
    cost.bytes_moved +=
        made.forward.bytes_moved * changes_.weight_passes() + made.backward.bytes_moved;
  else
    cost.sum_bytes_moved += made.backward.bytes_moved;
  add(exchange, result_.parts);
}

void ShardingProblem::add(const PricedExchange& exchange, StepParts& parts) const {
  if (!exchange.exchange.is_gathered) {
    parts.summed_us += exchange.gradient_us;
    return;
  }
  parts.gathered_us += exchange.gather_us;
  parts.exchanged_backward_us +=
      (changes_.weight_passes() - 1) * exchange.gather_us + exchange.gradient_us;
}

std::vector<WeightChoice> ShardingProblem::weight_choices(core::TensorId weight,
                                                          const Assignment& assignment) const {
  const TensorWork& tensor = work_.tensors[weight.index()];
  const Reader& reader = readers_[weight.index()].front();
  const auto copy = views_.find(weight);
  const Layout& wanted = chosen(copy == views_.end() ? place_of(reader) : copy->second, assignment);
  const std::vector<Layout>& layouts = lists_[weight_places_.at(weight).layouts].by_choice;
  std::vector<WeightChoice> choices;
  for (std::uint32_t c = 0; c < layouts.size(); ++c) {
    if (changes_.cost(tensor, layouts[c], wanted, {}) == kImpossible) continue;
    choices.push_back({c, weights_.held(weight, tensor, layouts[c]),
                       exchange_of(reader.node, tensor, layouts[c], wanted)});
  }
  return choices;
}

std::vector<PricedExchange>
ShardingProblem::exchanges_of_copies(const Assignment& assignment) const {
  std::vector<PricedExchange> exchanges;
  for (const auto& [id, copy] : views_) {
    const TensorWork& tensor = work_.tensors[id.index()];
    if (!tensor.is_weight) continue;
    for (const Reader& reader : readers_[id.index()])
      if (const auto exchange = exchange_of(reader.node, tensor, chosen(copy, assignment),
                                            chosen(place_of(reader), assignment)))
        exchanges.push_back(*exchange);
  }
  return exchanges;
}

}  // namespace soapstone::parallel
