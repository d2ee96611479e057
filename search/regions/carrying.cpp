#include "search/regions/carrying.h"

#include <algorithm>

namespace soapstone::search {
namespace {

using core::Graph;
using core::Movement;
using core::NodeId;
using core::OpSchema;
using core::TensorId;

bool can_move(const OpSchema& op) {
  const Movement how = op.movement;
  const bool moves = how != Movement::kNone && how != Movement::kConvert &&
                     how != Movement::kFill && how != Movement::kDiagonal;
  return moves || op.find_role(core::AttributeRole::kKeepsRank) != nullptr;
}

/// The operator that computes all results of the graph; null: they are inputs or differ in that.
const OpSchema* op_of_results(const Graph& graph) {
  const OpSchema* op = nullptr;
  for (const TensorId id : graph.outputs()) {
    const NodeId producer = graph.tensor(id).producer;
    if (!producer.valid()) return nullptr;
    const OpSchema* its = graph.node(producer).op;
    if (op != nullptr && op != its) return nullptr;
    op = its;
  }
  return op;
}

bool has(const Graph& graph, const OpSchema* op) {
  return std::ranges::any_of(graph.order(), [&](NodeId id) { return graph.node(id).op == op; });
}

bool computes_results(const Graph& graph, const OpSchema* op) {
  return std::ranges::any_of(graph.outputs(), [&](TensorId id) {
    const NodeId producer = graph.tensor(id).producer;
    return producer.valid() && graph.node(producer).op == op;
  });
}

}  // namespace

std::optional<Carried> carried_by(const rules::Rule& rule) {
  const Graph &source = rule.source, &target = rule.target;
  const OpSchema *before = op_of_results(source), *after = op_of_results(target);
  const std::size_t operators = source.order().size();
  if (operators < 2) return std::nullopt;
  if (before != nullptr && can_move(*before)) {
    if (before == after && operators == 2 && target.order().size() == 1)
      return Carried{.op = before, .unites = true};
    if (!computes_results(target, before)) return Carried{.op = before, .towards_inputs = true};
  }
  if (after != nullptr && can_move(*after) && has(source, after) &&
      !computes_results(source, after))
    return Carried{.op = after};
  return std::nullopt;
}

}  // namespace soapstone::search
