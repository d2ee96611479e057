#include "rules/contractions/factor_axis.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "rules/views/contraction_labels.h"

namespace soapstone::rules {
namespace {

using core::AttributeRole;
using core::Movement;
using core::Node;
using core::Polynomial;
using core::Shape;

/// The axis of the operand of a reshape that lies where that of the result lies.
std::optional<std::size_t> axis_before_reshape(const Shape& operand, const Shape& result,
                                               std::size_t axis) {
  const auto count_before = [](const Shape& shape, std::size_t end) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < end; ++d) count *= shape[d].constant();
    return count;
  };
  for (std::size_t d = 0; d < operand.size(); ++d)
    if (operand[d] == result[axis] && count_before(operand, d) == count_before(result, axis))
      return d;
  return std::nullopt;
}

bool names_axis(const Node& node, std::size_t axis) {
  const auto& axes = ops::sizes_by_role(node, AttributeRole::kAxes);
  return std::ranges::any_of(
      axes, [&](const Polynomial& d) { return d == Polynomial(static_cast<std::int64_t>(axis)); });
}

/// The axis of the operand of a movement.
std::optional<std::size_t> axis_before_movement(const Node& node, const Shape& operand,
                                                const Shape& result, std::size_t axis) {
  switch (node.op->movement) {
  case Movement::kReshape:
    return axis_before_reshape(operand, result, axis);
  case Movement::kPermute:
    return static_cast<std::size_t>(
        ops::sizes_by_role(node, AttributeRole::kPermutation)[axis].constant());
  case Movement::kCut:
    return names_axis(node, axis) ? std::nullopt : std::optional(axis);
  case Movement::kJoin:
    return ops::axis_by_role(node) == axis ? std::nullopt : std::optional(axis);
  default:
    return std::nullopt;
  }
}

}  // namespace

FactorAxis factor_axis(const core::Graph& graph, const Node& node, std::size_t operand,
                       std::size_t behind) {
  const Shape& result = graph.tensor(node.outputs[0]).type.shape;
  const Shape& own = graph.tensor(node.inputs[operand]).type.shape;
  const std::size_t axis = result.size() - 1 - behind;
  if (is_equation(node)) {
    const std::vector<std::string> labels = contraction_labels(graph, node);
    if (labels.empty()) return std::nullopt;
    const std::size_t place = labels[operand].find(labels.back()[axis]);
    return place == std::string::npos ? std::nullopt : FactorAxis(own.size() - 1 - place);
  }
  // Rows are those of the left matrix, columns those of the right one.
  if (is_product(node)) {
    const std::size_t other = operand == 0 ? 0 : 1;
    return own.size() < 2 || behind == other ? std::nullopt : FactorAxis(behind);
  }
  if (node.op->has_operand(core::OperandRole::kKernel)) {
    if (axis != 1 || operand == 0 || node.op->name != "conv") return std::nullopt;
    return own.size() - 1;
  }
  const auto* const op = ops::definition_of(node);
  if (op->op_class == ops::OpClass::kElementwise || node.op->movement == Movement::kRepeat)
    return behind;
  if (op->op_class == ops::OpClass::kNormalization)
    return ops::axis_by_role(node) == axis ? FactorAxis(0) : std::nullopt;
  const auto before = axis_before_movement(node, own, result, axis);
  return before ? FactorAxis(own.size() - 1 - *before) : std::nullopt;
}

}  // namespace soapstone::rules
