// Goes against the order of the graph, so that what reads a result is known before its inputs are.
#include "ops/definition/valid_values.h"

#include <algorithm>
#include <span>

#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;
using ValueRanges = std::vector<std::optional<ValueRange>>;

void narrow(std::optional<ValueRange>& range, const ValueRange& by) {
  range = range ? ValueRange{std::max(range->low, by.low), std::min(range->high, by.high)} : by;
}

bool holds_integers(const Graph& graph, TensorId id) {
  return id.valid() && !core::is_floating(graph.tensor(id).type.data_type);
}

/// The element itself, if the value is 0 where an element is ignored.
const ExprNode& counted(const ExprNode& value) {
  const bool selects = value.kind == ExprKind::kApply && value.function == Function::kSelect;
  return selects ? *value.arguments[2] : value;
}

/// Narrows the ranges by what the operator itself requires of the elements of its inputs.
void narrow_by_requirements(const Graph& graph, NodeId id, ValueRanges& ranges) {
  const core::Node& node = graph.node(id);
  if (is_opaque(node) || std::ranges::none_of(node.inputs, [&](TensorId input) {
        return holds_integers(graph, input);
      }))
    return;
  for (const Requirement& r : semantics_of(graph, id).requirements) {
    const auto low = r.low.as_constant(), high = r.high.as_constant();
    const ExprNode& value = counted(*r.value);
    if (!low || !high || value.kind != ExprKind::kRead || value.tensor >= node.inputs.size())
      continue;
    narrow(ranges[node.inputs[value.tensor].index()], {*low, *high});
  }
}

/// Inputs whose elements are elements of the result, unchanged.
std::span<const TensorId> moved_inputs(const core::Node& node) {
  const std::span<const TensorId> inputs = node.inputs;
  switch (node.op->movement) {
  case Movement::kJoin:
    return inputs;
  case Movement::kChoose:
    return inputs.subspan(1);
  case Movement::kReshape:
  case Movement::kPermute:
  case Movement::kRepeat:
  case Movement::kCut:
  case Movement::kSplit:
  case Movement::kFrame:
  case Movement::kSelect:
  case Movement::kConvert:  // An integer stays the same number wherever it fits.
    return inputs.first(1);
  case Movement::kNone:
  case Movement::kFill:
  case Movement::kDiagonal:
  case Movement::kOther:
    return {};
  }
  return {};
}

}  // namespace

ValueRanges valid_values(const Graph& graph) {
  ValueRanges ranges(graph.tensor_bound());
  const auto order = graph.order();
  for (std::size_t k = order.size(); k-- > 0;) {
    const core::Node& node = graph.node(order[k]);
    for (const TensorId input : moved_inputs(node))
      for (const TensorId output : node.outputs)
        if (holds_integers(graph, input) && ranges[output.index()])
          narrow(ranges[input.index()], *ranges[output.index()]);
    narrow_by_requirements(graph, order[k], ranges);
  }
  return ranges;
}

}  // namespace soapstone::ops
