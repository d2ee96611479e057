// See rule_index.h.
#include "rules/matching/rule_index.h"

#include "core/base/hash.h"

namespace soapstone::rules {

using core::hash_combine;
using core::OpSchema;

std::uint64_t RuleSet::Index::key(std::size_t rank, std::uint64_t attribute, Side side,
                                  const OpSchema* neighbor) {
  // Within one process; addresses are good enough for a table that nothing is ordered by.
  const auto address = reinterpret_cast<std::uintptr_t>(neighbor);
  return hash_combine(attribute, address * 64 + rank * 4 + static_cast<std::uint64_t>(side));
}

void RuleSet::Index::Neighbors::add(Side side, const OpSchema* op) {
  for (std::size_t i = 0; i < count; ++i)
    if (sides[i] == side && ops[i] == op) return;
  overflow = overflow || count == kMost;
  if (overflow) return;
  sides[count] = side;
  ops[count++] = op;
}

void RuleSet::Index::collect_neighbors(const Graph& graph, const core::Node& node,
                                       Neighbors& neighbors) {
  for (TensorId input : node.inputs) {
    const NodeId producer = input.valid() ? graph.tensor(input).producer : NodeId::none();
    if (producer.valid()) neighbors.add(Side::kProducer, graph.node(producer).op);
  }
  for (TensorId output : node.outputs)
    for (NodeId consumer : graph.consumers(output))
      neighbors.add(Side::kConsumer, graph.node(consumer).op);
}

/// Files under the rarest neighbor, which is the one that excludes most.
std::uint64_t RuleSet::Index::neighbor_key(const Pattern& pattern, const NodePattern& node,
                                           std::uint64_t attribute) {
  Side side = Side::kNone;
  const OpSchema* best = nullptr;
  const auto offer = [&](Side offered, const OpSchema* op) {
    if (best && commonness(*best) <= commonness(*op)) return;
    best = op;
    side = offered;
  };
  const auto reads = [](const NodePattern& n, std::int32_t slot) {
    return std::ranges::find(n.inputs, slot) != n.inputs.end();
  };
  for (const NodePattern& other : pattern.nodes)
    for (std::int32_t slot : other.outputs)
      if (reads(node, slot)) offer(Side::kProducer, other.op);
  for (const NodePattern& other : pattern.nodes)
    for (std::int32_t slot : node.outputs)
      if (reads(other, slot)) offer(Side::kConsumer, other.op);
  return key(static_cast<std::size_t>(node.result_rank), attribute, side, best);
}

void RuleSet::Index::add(const Rule& rule, Pattern pattern) {
  const auto number = static_cast<std::uint32_t>(patterns.size());
  slot_bound = std::max(slot_bound, pattern.slots.size());
  node_bound = std::max(node_bound, pattern.nodes.size());
  symbol_bound = std::max(symbol_bound, rule.source.symbols().size());
  equation_bound = std::max(equation_bound, pattern.equations.size());
  symmetries.push_back(find_symmetries(rule, pattern));
  patterns.push_back(std::move(pattern));
  for (std::uint32_t node = 0; node < patterns.back().nodes.size(); ++node) add_start(number, node);
}

void RuleSet::Index::add_start(std::uint32_t rule, std::uint32_t node) {
  const Pattern& pattern = patterns[rule];
  const NodePattern& n = pattern.nodes[node];
  auto [at, is_new] = by_op_.try_emplace(n.op);
  OfOperator& of_op = at->second;
  if (is_new) of_op.key_attribute = rules::key_attribute(*n.op);
  const std::uint64_t where = neighbor_key(pattern, n, pattern_key(n));
  of_op.all[where].push_back({rule, node});
  of_op.every.push_back({rule, node});
  if (node != pattern.anchor) return;
  of_op.anchors[where].push_back({rule, node});
  of_op.every_anchor.push_back({rule, node});
}

}  // namespace soapstone::rules
