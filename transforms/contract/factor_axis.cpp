#include "transforms/contract/factor_axis.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
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

/// How many axes stand behind that of the operand of a reduction that is kept there.
std::optional<std::size_t> axis_before_reduction(const Node& node, const Shape& operand,
                                                 const Shape& result, std::size_t axis) {
  std::size_t kept = 0;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    const bool is_kept = !names_axis(node, d);
    const bool is_it = operand.size() == result.size() ? d == axis : kept == axis;
    if (is_kept && is_it) return operand.size() - 1 - d;
    if (is_kept) ++kept;
  }
  return std::nullopt;
}

/// Whether places are averaged, image by image and channel by channel.
bool averages_windows(const Node& node) {
  return node.op->find_role(AttributeRole::kCountsPad) != nullptr;
}

bool is_any_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, node.op->name) != names.end();
}

std::optional<std::size_t> factor_axis(const core::Graph& graph, const Node& node,
                                       std::size_t operand, std::size_t behind) {
  const Shape& result = graph.tensor(node.outputs[0]).type.shape;
  const Shape& own = graph.tensor(node.inputs[operand]).type.shape;
  const std::size_t axis = result.size() - 1 - behind;
  if (is_equation(node)) {
    const std::vector<std::string> labels = contraction_labels(graph, node);
    if (labels.empty()) return std::nullopt;
    const std::size_t place = labels[operand].find(labels.back()[axis]);
    return place == std::string::npos ? std::nullopt : std::optional(own.size() - 1 - place);
  }
  // Rows are those of the left matrix, columns those of the right one.
  if (is_product(node)) {
    const std::size_t other = operand == 0 ? 0 : 1;
    const bool lacks = own.size() < 2 || own.size() <= behind || behind == other;
    return lacks ? std::nullopt : std::optional(behind);
  }
  if (node.op->has_operand(core::OperandRole::kKernel)) {
    // Items of the batch are those of the image, channels those of kernel and bias.
    const bool is_there = axis == (operand == 0 ? 0 : 1) && node.op->name == "conv";
    return is_there ? std::optional(own.size() - 1) : std::nullopt;
  }
  const auto* const op = ops::definition_of(node);
  if (op->op_class == ops::OpClass::kElementwise || node.op->movement == Movement::kRepeat)
    return behind;
  if (op->op_class == ops::OpClass::kNormalization)
    return ops::axis_by_role(node) == axis ? std::optional<std::size_t>(0) : std::nullopt;
  if (averages_windows(node)) return axis < kFirstPlaces ? std::optional(behind) : std::nullopt;
  if (op->op_class == ops::OpClass::kReduction)
    return axis_before_reduction(node, own, result, axis);
  const auto before = axis_before_movement(node, own, result, axis);
  return before ? std::optional(own.size() - 1 - *before) : std::nullopt;
}

/// Whether the node multiplied gives what it gives of these operands multiplied, at a few places.
bool is_homogeneous(const Node& node, const std::vector<std::size_t>& operands) {
  static const std::vector<double> kPlaces{-7.3, -1.1, -0.2, 0, 0.3, 1.7, 9.1};
  constexpr double kNearlyEqual = 1e-9;
  const core::TensorType type{
      core::DataType::kFloat32, {static_cast<std::int64_t>(kPlaces.size())}, true};
  core::GraphBuilder builder;
  std::vector<core::TensorId> inputs;
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    inputs.push_back(builder.add_input("x" + std::to_string(k), type));
  const auto result = ops::append(builder, node.op->name, inputs, node.attributes);
  if (!result) return false;
  builder.set_outputs({(*result)[0]});
  const auto alone = std::move(builder).finish();
  if (!alone) return false;
  const auto with = [&](double factor) {
    std::vector<std::vector<double>> values(node.inputs.size(), kPlaces);
    for (std::size_t k = 1; k < values.size(); ++k)
      std::ranges::rotate(values[k], values[k].begin() + static_cast<std::ptrdiff_t>(k));
    for (const std::size_t k : operands)
      for (double& value : values[k]) value *= factor;
    auto computed = ops::evaluate_graph<double>(*alone, values);
    return computed ? (*computed)[0] : std::vector<double>();
  };
  const std::vector<double> plain = with(1);
  for (const double factor : {0.25, 3.0}) {
    const std::vector<double> multiplied = with(factor);
    const bool is_such = std::ranges::equal(plain, multiplied, [&](double a, double b) {
      return std::abs(factor * a - b) <= kNearlyEqual * (1 + std::abs(b));
    });
    if (!is_such || plain.empty()) return false;
  }
  return true;
}

}  // namespace

std::vector<std::vector<std::size_t>> factor_ways(const Node& node) {
  std::vector<std::size_t> all;
  std::vector<std::vector<std::size_t>> each;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    all.push_back(k);
    each.push_back({k});
  }
  switch (node.op->movement) {
  case Movement::kReshape:
  case Movement::kPermute:
  case Movement::kRepeat:
  case Movement::kCut:
    return {{0}};
  case Movement::kJoin:
    return {all};
  case Movement::kChoose:
    return {{1, 2}};
  default:
    break;
  }
  switch (ops::arithmetic_of(*node.op)) {
  case ops::Arithmetic::kSum:
  case ops::Arithmetic::kDifference:
    return {all};
  case ops::Arithmetic::kProduct:
    return each;
  case ops::Arithmetic::kQuotient:
    return {{0}};
  default:
    break;
  }
  if (is_product(node) || is_equation(node)) return each;
  if (is_any_of(node, {"reduce_sum", "reduce_mean"}) || averages_windows(node)) return {{0}};
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (is_any_of(node, {"conv"})) {
    if (has_bias) return {{1, 2}, {0, 2}};
    return {{1}, {0}};
  }
  if (is_any_of(node, {"layer_norm"})) {
    if (has_bias) return {{1, 2}};
    return {{1}};
  }
  if (is_any_of(node, {"rms_norm"})) return {{1}};
  return {};
}

std::vector<std::vector<std::size_t>> ways_of_positive_numbers(const Node& node) {
  const auto* const op = ops::definition_of(node);
  if (op == nullptr || op->op_class != ops::OpClass::kElementwise || node.outputs.size() != 1 ||
      !std::ranges::all_of(node.inputs, &core::TensorId::valid))
    return {};
  std::vector<std::size_t> all(node.inputs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const auto& way : {std::vector<std::size_t>{0}, all})
    if (is_homogeneous(node, way)) return {way};
  return {};
}

std::optional<FactorAxes> factor_axes(const core::Graph& graph, const Node& node,
                                      std::size_t operand, const FactorAxes& axes) {
  FactorAxes its;
  for (const std::size_t axis : axes) {
    const auto before = factor_axis(graph, node, operand, axis);
    if (!before || std::ranges::find(its, *before) != its.end()) return std::nullopt;
    its.push_back(*before);
  }
  return its;
}

}  // namespace soapstone::transforms
