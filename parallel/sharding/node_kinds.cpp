#include "parallel/sharding/node_kinds.h"

#include <algorithm>

#include "core/base/hash.h"

namespace soapstone::parallel {

const NodeKind& NodeKinds::of(core::NodeId id) {
  const auto [at, is_new] = known_.try_emplace(hash_of(id));
  if (is_new) fill(id, at->second);
  return at->second;
}

void NodeKinds::fill(core::NodeId id, NodeKind& kind) {
  NodeChoices made = node_choices(context_.graph, id, context_.loops, context_.work, context_.mesh,
                                  context_.rates, context_.options.choices);
  kind.choices = std::move(made.all);
  kind.obeys_policies = made.obeys_policies;
  CostTable own{1, kind.choices.size(), {}};
  for (const NodeChoice& choice : kind.choices) own.costs.push_back(own_cost(id, choice));
  kind.costs = tables_.intern(std::move(own));
  const core::Node& node = context_.graph.node(id);
  const auto list = [&](const std::vector<Layout> NodeChoice::*layouts, std::size_t k) {
    std::vector<Layout> by_choice;
    for (const NodeChoice& choice : kind.choices) by_choice.push_back((choice.*layouts)[k]);
    return lists_.add(std::move(by_choice));
  };
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    kind.inputs.push_back(list(&NodeChoice::inputs, k));
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    kind.outputs.push_back(list(&NodeChoice::outputs, k));
}

double NodeKinds::own_cost(core::NodeId id, const NodeChoice& choice) const {
  const StepWeights& weights = context_.options.weights;
  const double again = context_.options.recomputes ? weights.backward : 0;
  const PartTime time = counted(choice);
  return (time.forward_us + result_sums(id, choice).us) * (weights.forward + again) +
         time.backward_us * weights.backward;
}

PartTime NodeKinds::counted(const NodeChoice& choice) const {
  const std::vector<double>& positions = context_.options.weights.positions;
  if (positions.empty() || choice.by_position.empty())
    return {choice.forward_us, choice.backward_us};
  PartTime sum;
  for (std::size_t p = 0; p < positions.size(); ++p) {
    sum.forward_us += positions[p] * choice.by_position[p].forward_us;
    sum.backward_us += positions[p] * choice.by_position[p].backward_us;
  }
  return sum;
}

Conversion NodeKinds::result_sums(core::NodeId id, const NodeChoice& choice) const {
  Conversion total;
  const core::Node& node = context_.graph.node(id);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (!context_.graph.is_output(node.outputs[k])) continue;
    Layout whole = choice.outputs[k];
    std::replace(whole.axes.begin(), whole.axes.end(), std::int8_t{kPartial},
                 std::int8_t{kReplicated});
    const double bytes = context_.work.tensors[node.outputs[k].index()].bytes;
    total += convert(context_.mesh, bytes, choice.outputs[k], whole);
  }
  return total;
}

/// A hash of all that choices and their costs depend on.
std::uint64_t NodeKinds::hash_of(core::NodeId id) const {
  const core::Graph& graph = context_.graph;
  const core::Node& node = graph.node(id);
  const NodeWork& work = context_.work.nodes[id.index()];
  std::uint64_t hash = core::hash_combine(node.local_hash, work.starts_launch ? 1 : 0);
  hash = core::hash_combine(hash, (work.runs_again ? 1 : 0) + (work.scores_attention ? 2 : 0));
  hash = core::hash_combine(hash, static_cast<std::uint64_t>(work.turns));
  for (const bool reads : work.gradient_reads) hash = core::hash_combine(hash, reads ? 1 : 2);
  if (!context_.options.choices.fixed.empty())
    for (const std::int8_t loop : context_.options.choices.fixed[id.index()])
      hash = core::hash_combine(hash, static_cast<std::uint8_t>(loop));
  for (const Origin origin : context_.loops.origins[id.index()])
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(origin));
  for (const core::TensorId input : node.inputs) {
    if (!input.valid()) continue;
    hash = core::hash_combine(hash, hash_of(input));
    for (const core::Size& size : graph.tensor(input).type.shape)
      hash = core::hash_combine(hash, static_cast<std::uint64_t>(size.as_constant().value_or(0)));
  }
  const std::vector<bool>& whole = context_.options.choices.whole;
  for (const core::TensorId output : node.outputs)
    if (!whole.empty()) hash = core::hash_combine(hash, whole[output.index()] ? 1 : 0);
  for (const core::TensorId output : node.outputs)
    hash = core::hash_combine(core::hash_combine(hash, hash_of(output)),
                              graph.is_output(output) ? 1 : 0);
  return hash;
}

std::uint64_t NodeKinds::hash_of(core::TensorId id) const {
  const TensorWork& tensor = context_.work.tensors[id.index()];
  const std::uint64_t flags = (tensor.is_weight ? 1u : 0u) | (tensor.has_gradient ? 2u : 0u) |
                              (tensor.is_kept ? 4u : 0u) | (tensor.is_stored ? 8u : 0u) |
                              (tensor.is_computed_again ? 16u : 0u);
  return core::hash_combine(flags, static_cast<std::uint64_t>(tensor.bytes));
}

}  // namespace soapstone::parallel
