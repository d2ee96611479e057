// See view.h. is_view() is called for every node of every candidate graph of a search.
#include "runtime/launches/view.h"

#include <optional>

#include "core/base/check.h"
#include "ops/definition/by_role.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::runtime {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::Shape;

const core::TensorType& input_type(const Graph& graph, const Node& node) {
  return graph.tensor(node.inputs[0]).type;
}

bool is_contiguous_split(const Graph& graph, const Node& node, Layout layout) {
  return is_outermost(input_type(graph, node), layout, ops::axis_by_role(node));
}

/// One dimension at most is cut, it is the outermost one, and no element of it is left out between.
bool is_contiguous_slice(const Graph& graph, const Node& node, Layout layout) {
  const core::TensorType& from = input_type(graph, node);
  const Shape& to = graph.tensor(node.outputs[0]).type.shape;
  std::optional<std::size_t> cut;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from.shape[i]) continue;
    if (cut) return false;
    cut = i;
  }
  const auto& axes = ops::sizes_by_role(node, AttributeRole::kAxes);
  const auto& steps = ops::sizes_by_role(node, AttributeRole::kStep);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axes[k].constant());
    if (steps[k].as_constant() == 1 || to[axis].as_constant() == 1) continue;
    return false;
  }
  return !cut || is_outermost(from, layout, *cut);
}

/// The dimensions that are not 1 keep their order.
bool moves_ones_only(const Graph& graph, const Node& node) {
  const Shape& from = input_type(graph, node).shape;
  std::int64_t last = -1;
  for (const core::Size& source : ops::sizes_by_role(node, AttributeRole::kPermutation)) {
    if (from[static_cast<std::size_t>(source.constant())].as_constant() == 1) continue;
    if (source.constant() < last) return false;
    last = source.constant();
  }
  return true;
}

/// Equal but for leading dimensions of size 1.
bool expands_nothing(const Graph& graph, const Node& node) {
  const Shape& from = input_type(graph, node).shape;
  const Shape& to = graph.tensor(node.outputs[0]).type.shape;
  for (std::size_t i = 1; i <= to.size(); ++i) {
    const core::Size& size = to[to.size() - i];
    if (i <= from.size() ? size != from[from.size() - i] : size.as_constant() != 1) return false;
  }
  return true;
}

}  // namespace

bool is_view(const Graph& graph, NodeId id, Layout layout) {
  const Node& node = graph.node(id);
  const bool row_major = layout == Layout::kRowMajor;
  switch (node.op->movement) {
  case Movement::kReshape:
    return row_major;
  case Movement::kSplit:
    return is_contiguous_split(graph, node, layout);
  case Movement::kCut:
    return is_contiguous_slice(graph, node, layout);
  case Movement::kPermute:
    return row_major && moves_ones_only(graph, node);
  case Movement::kRepeat:
    return row_major && expands_nothing(graph, node);
  case Movement::kConvert:
    return input_type(graph, node).data_type == graph.tensor(node.outputs[0]).type.data_type;
  default:
    return false;
  }
}

std::size_t view_offset(const Graph& graph, NodeId id, std::size_t output, Layout layout) {
  const Node& node = graph.node(id);
  if (node.op->movement == Movement::kSplit) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < output; ++i)
      offset += storage_bytes(graph.tensor(node.outputs[i]).type);
    return offset;
  }
  if (node.op->movement != Movement::kCut) return 0;
  const core::TensorType& type = input_type(graph, node);
  const core::Dims strides = strides_of(dims_of(type), layout);
  const auto& axes = ops::sizes_by_role(node, AttributeRole::kAxes);
  const auto& starts = ops::sizes_by_role(node, AttributeRole::kStart);
  std::int64_t elements = 0;
  for (std::size_t k = 0; k < axes.size(); ++k)
    elements += starts[k].constant() * strides[static_cast<std::size_t>(axes[k].constant())];
  return static_cast<std::size_t>(elements) * core::size_bytes(type.data_type);
}

bool is_free(const Graph& graph, NodeId node) {
  return graph.is_constant_expression(node) || is_view(graph, node, Layout::kRowMajor);
}

}  // namespace soapstone::runtime
