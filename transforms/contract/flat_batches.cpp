#include "transforms/contract/flat_batches.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::OperandRole;
using core::TensorId;

constexpr std::string_view kFlatBatchDescription = "A batch of products has one dimension.";

/// The rule for that product, and for any sizes.
std::string flat_batch(const Graph& graph, const Node& node) {
  const auto& weights = graph.tensor(node.inputs[1]).type;
  Names batch;
  for (std::size_t d = 0; d + 2 < weights.shape.size(); ++d)
    batch.push_back(weights.shape[d] == core::Polynomial(1) ? "1" : fmt::format("b{}", d));
  Names factors = batch;
  std::erase(factors, "1");
  const std::string all = factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
  const auto with = [&](const Names& dims, const char* rows, const char* columns) {
    Names shape = dims;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  const std::string head =
      fmt::format("  x: {}\n  w: {}\n", declared(graph.tensor(node.inputs[0]).type, {"m", "k"}),
                  declared(weights, with(batch, "k", "n")));
  SideText source, target;
  const std::string y = source.line(call_of(graph, node, {"x", "w"}));
  const std::string flat = target.reshaped("w", with(batch, "k", "n"), with({all}, "k", "n"));
  const std::string t = target.line(call_of(graph, node, {"x", flat}));
  return rule_text(fmt::format("{}{}", kFlatBatchPrefix, node.op->name), head, source, {y}, target,
                   {target.reshaped(t, with({all}, "m", "n"), with(batch, "m", "n"))});
}

}  // namespace

std::vector<RewriteSequence> find_flat_batches(const Graph& graph) {
  // By matrix, and by size of the weights: the products.
  std::map<std::tuple<TensorId, std::int64_t, std::int64_t>, std::vector<NodeId>> batches;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->operand_role(0) != OperandRole::kLeftMatrix || node.inputs.size() != 2 ||
        graph.is_constant_expression(id) || !graph.is_constant_expression(node.inputs[1]) ||
        !has_known_sizes(graph, node) || graph.tensor(node.inputs[0]).type.shape.size() != 2)
      continue;
    const Sizes weights = known_sizes(graph.tensor(node.inputs[1]).type.shape);
    if (weights.size() >= 3)
      batches[{node.inputs[0], weights[weights.size() - 2], weights.back()}].push_back(id);
  }
  std::vector<RewriteSequence> plans;
  for (const auto& [ignored, nodes] : batches) {
    RewriteSequence plan;
    for (const NodeId id : nodes) {
      const Node& node = graph.node(id);
      if (graph.tensor(node.inputs[1]).type.shape.size() > 3)
        plan.steps.push_back({.results = node.outputs,
                              .texts = {flat_batch(graph, node)},
                              .description = kFlatBatchDescription});
    }
    if (nodes.size() > 1 && !plan.steps.empty()) plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::transforms
