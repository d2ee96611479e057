#include "transforms/layout_changes/plain_moves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/layout_changes/moves.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::TensorId;

bool is_reshape(const Graph& graph, core::NodeId id) {
  return id.valid() && graph.node(id).op->movement == core::Movement::kReshape &&
         has_known_sizes(graph, graph.node(id));
}

Names shape_of(const Graph& graph, TensorId id) {
  return names_of(known_sizes(graph.tensor(id).type.shape));
}

std::string rule_at(const Graph& graph, core::NodeId id, const std::string& head,
                    const SideText& source, const std::string& name, const SideText& target,
                    const std::string& joined) {
  return rule_text(fmt::format("{}{}", kMovesPrefix, graph.node(id).op->name), head, source, {name},
                   target, {joined});
}

/// The rule that makes one reshape of those that this node ends. None: it is the only one.
std::optional<std::string> joined_reshapes(const Graph& graph, core::NodeId id) {
  if (!is_reshape(graph, id)) return std::nullopt;
  std::vector<TensorId> tensors{graph.node(id).outputs[0]};  // the last one first
  for (auto at = id; is_reshape(graph, at); at = graph.tensor(tensors.back()).producer)
    tensors.push_back(graph.node(at).inputs[0]);
  if (tensors.size() < 3) return std::nullopt;
  std::ranges::reverse(tensors);
  SideText source, target;
  std::string name = "x";
  for (std::size_t k = 1; k < tensors.size(); ++k)
    name = source.reshaped(name, shape_of(graph, tensors[k - 1]), shape_of(graph, tensors[k]));
  const Names first = shape_of(graph, tensors.front());
  const std::string head =
      fmt::format("  x: {}\n", declared(graph.tensor(tensors.front()).type, first));
  const std::string joined = target.reshaped("x", first, shape_of(graph, tensors.back()));
  return rule_at(graph, id, head, source, name, target, joined);
}

/// The rule that joins at once what this node joins of joins along the same axis. None: of none.
std::optional<std::string> joined_joins(const Graph& graph, core::NodeId id) {
  const Node& last = graph.node(id);
  const auto is_such = [&](core::NodeId at) {
    return at.valid() && graph.node(at).op == last.op && has_known_sizes(graph, graph.node(at)) &&
           ops::axis_by_role(graph.node(at)) == ops::axis_by_role(last);
  };
  if (last.op->movement != Movement::kJoin || !is_such(id)) return std::nullopt;
  std::string head;
  std::map<TensorId, std::string> names;
  Names whole;
  SideText source, target;
  std::size_t nested = 0;
  // What others read, too, is one tensor for what finds maps of it.
  const auto is_inner = [&](TensorId tensor) {
    return graph.consumers(tensor).size() == 1 && !graph.is_output(tensor);
  };
  if (is_inner(last.outputs[0]) && is_such(graph.consumers(last.outputs[0])[0]))
    return std::nullopt;
  const auto name_of = [&](TensorId tensor) {
    const auto [known, is_new] = names.try_emplace(tensor, fmt::format("x{}", names.size()));
    if (is_new) {
      Names shape;
      for (std::size_t d = 0; d < graph.tensor(tensor).type.shape.size(); ++d)
        shape.push_back(
            fmt::format("{}{}", d == ops::axis_by_role(last) ? known->second + "n" : "d", d));
      head += fmt::format("  {}: {}\n", known->second, declared(graph.tensor(tensor).type, shape));
    }
    return known->second;
  };
  const auto write = [&](const auto& self, core::NodeId at) -> std::string {
    Names operands;
    for (const TensorId input : graph.node(at).inputs) {
      const core::NodeId producer = graph.tensor(input).producer;
      const bool is_joined =
          is_such(producer) && !graph.is_constant_expression(producer) && is_inner(input);
      nested += is_joined ? 1 : 0;
      operands.push_back(is_joined ? self(self, producer) : name_of(input));
      if (!is_joined) whole.push_back(operands.back());
    }
    return source.line(call_of(graph, graph.node(at), operands));
  };
  const std::string name = write(write, id);
  if (nested == 0) return std::nullopt;
  return rule_at(graph, id, head, source, name, target, target.line(call_of(graph, last, whole)));
}

/// The rule that leaves out a node that moves nothing. None: it does.
std::optional<std::string> idle_move(const Graph& graph, core::NodeId id) {
  const Node& node = graph.node(id);
  if (!is_move(node) || !has_known_sizes(graph, node) ||
      shape_of(graph, node.inputs[0]) != shape_of(graph, node.outputs[0]))
    return std::nullopt;
  View view(known_sizes(graph.tensor(node.inputs[0]).type.shape));
  if (!move(view, node, known_sizes(graph.tensor(node.outputs[0]).type.shape)) ||
      !view.is_identity())
    return std::nullopt;
  SideText source;
  const std::string head = fmt::format(
      "  x: {}\n", declared(graph.tensor(node.inputs[0]).type, shape_of(graph, node.inputs[0])));
  const std::string moved = source.line(call_of(graph, node, {"x"}));
  return rule_at(graph, id, head, source, moved, SideText(), "x");
}

/// The rule that multiplies rows where they lie, if they are reshaped before the product with a
/// matrix and behind it. None: they are not.
std::optional<std::string> rows_of_product(const Graph& graph, core::NodeId id) {
  if (!is_reshape(graph, id)) return std::nullopt;
  const TensorId product = graph.node(id).inputs[0];
  const core::NodeId producer = graph.tensor(product).producer;
  if (!producer.valid() || graph.consumers(product).size() != 1 || graph.is_output(product))
    return std::nullopt;
  const Node& node = graph.node(producer);
  if (!node.op->has_operand(core::OperandRole::kLeftMatrix) || !has_known_sizes(graph, node) ||
      graph.tensor(node.inputs[1]).type.shape.size() != 2 ||
      !is_reshape(graph, graph.tensor(node.inputs[0]).producer))
    return std::nullopt;
  const Names flat = shape_of(graph, node.inputs[0]), whole = shape_of(graph, product),
              apart = shape_of(graph, graph.node(id).outputs[0]);
  if (apart.size() <= whole.size() || apart.back() != whole.back()) return std::nullopt;
  Names rows = apart;
  rows.back() = flat.back();
  const auto line = [&](const std::string& name, TensorId tensor, const Names& shape) {
    return fmt::format("  {}: {}\n", name, declared(graph.tensor(tensor).type, shape));
  };
  const std::string head =
      line("x", node.inputs[0], flat) + line("w", node.inputs[1], shape_of(graph, node.inputs[1]));
  SideText source, target;
  const std::string multiplied = source.line(call_of(graph, node, {"x", "w"}));
  const std::string name = source.reshaped(multiplied, whole, apart);
  const std::string result =
      target.line(call_of(graph, node, {target.reshaped("x", flat, rows), "w"}));
  return rule_at(graph, id, head, source, name, target, result);
}

/// A plan for each node of which that makes a rule.
std::vector<RewriteSequence>
plans_by_node(const Graph& graph, std::optional<std::string> (*rule)(const Graph&, core::NodeId)) {
  std::vector<RewriteSequence> plans;
  for (const core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id))
      if (auto text = rule(graph, id))
        plans.push_back({{{.results = {graph.node(id).outputs[0]},
                           .texts = {*std::move(text)},
                           .description = "Moves that cancel are none, and what stands between "
                                          "moves is done where it lies."}}});
  return plans;
}

}  // namespace

std::vector<RewriteSequence> find_joined_reshapes(const Graph& graph) {
  return plans_by_node(graph, joined_reshapes);
}

std::vector<RewriteSequence> find_rows_of_products(const Graph& graph) {
  return plans_by_node(graph, rows_of_product);
}

std::vector<RewriteSequence> find_idle_moves(const Graph& graph) {
  return plans_by_node(graph, idle_move);
}

std::vector<RewriteSequence> find_joined_joins(const Graph& graph) {
  return plans_by_node(graph, joined_joins);
}

}  // namespace soapstone::transforms
