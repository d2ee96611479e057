// Masks that are true everywhere or nowhere: exporters write them where nothing is masked.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// None: it is no constant, or not the same everywhere.
std::optional<bool> value_everywhere(const core::LiteralPtr& mask) {
  if (!mask || mask->data_type() != core::DataType::kBool || mask->bytes().empty())
    return std::nullopt;
  const std::byte first = mask->bytes()[0];
  if (std::ranges::any_of(mask->bytes(), [&](std::byte byte) { return byte != first; }))
    return std::nullopt;
  return first != std::byte{0};
}

/// The operand that the node yields, whatever its inputs are. None: it chooses, or is no choice.
std::optional<TensorId> only_choice(const Graph& graph, const Node& node) {
  if (node.op->movement != core::Movement::kChoose || node.outputs.size() != 1) return std::nullopt;
  const TensorId result = node.outputs[0];
  const auto value = value_everywhere(graph.tensor(node.inputs[0]).value);
  if (!value || graph.is_output(result)) return std::nullopt;
  const TensorId operand = node.inputs[*value ? 1 : 2];
  if (graph.tensor(operand).type != graph.tensor(result).type) return std::nullopt;
  return operand;
}

}  // namespace

std::vector<NodeId> decided_choices(const Graph& graph, const MayVary& may_vary) {
  std::vector<NodeId> decided;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (only_choice(graph, node) && !(may_vary && may_vary(*graph.tensor(node.inputs[0]).value)))
      decided.push_back(id);
  }
  return decided;
}

std::optional<Graph> decide_choices(const Graph& graph, std::span<const NodeId> choices) {
  std::map<TensorId, TensorId> chosen;  // by result, what stands in its place
  for (const NodeId id : choices) {
    const auto operand = graph.contains(id) ? only_choice(graph, graph.node(id)) : std::nullopt;
    if (!operand) return std::nullopt;
    const auto known = chosen.find(*operand);
    chosen.emplace(graph.node(id).outputs[0], known != chosen.end() ? known->second : *operand);
  }
  if (chosen.empty()) return graph;
  core::GraphBuilder builder(graph);
  for (const auto& [result, operand] : chosen) builder.replace_uses(result, operand);
  auto decided = std::move(builder).finish();
  CHECK(decided.ok(), "to read one operand of a choice cannot break a graph");
  return *std::move(decided);
}

}  // namespace soapstone::search
