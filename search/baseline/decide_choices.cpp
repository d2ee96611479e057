// Masks that are true everywhere or nowhere: exporters write them where nothing is masked.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Node;
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

}  // namespace

Graph decide_choices(const Graph& graph) {
  std::map<TensorId, TensorId> chosen;  // by result, what stands in its place
  for (const core::NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != core::Movement::kChoose || node.outputs.size() != 1) continue;
    const TensorId result = node.outputs[0];
    const auto value = value_everywhere(graph.tensor(node.inputs[0]).value);
    if (!value || graph.is_output(result)) continue;
    TensorId operand = node.inputs[*value ? 1 : 2];
    if (const auto known = chosen.find(operand); known != chosen.end()) operand = known->second;
    if (graph.tensor(operand).type == graph.tensor(result).type) chosen.emplace(result, operand);
  }
  if (chosen.empty()) return graph;
  core::GraphBuilder builder(graph);
  for (const auto& [result, operand] : chosen) builder.replace_uses(result, operand);
  auto decided = std::move(builder).finish();
  CHECK(decided.ok(), "to read one operand of a choice cannot break a graph");
  return *std::move(decided);
}

}  // namespace soapstone::search
