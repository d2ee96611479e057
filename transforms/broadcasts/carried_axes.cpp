#include "transforms/broadcasts/carried_axes.h"

#include <cstdint>

#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::Polynomial;
using core::TensorType;
using ops::ExprKind;
using ops::ExprNode;

/// Which dimensions of inputs and stages are read at the place of a dimension of a result.
class PlaceFinder {
 public:
  explicit PlaceFinder(const ops::Semantics& semantics)
      : semantics_(semantics), axes_(semantics.input_count + semantics.stages.size()) {}

  /// False: one tensor is read in two ways.
  bool find(std::size_t axis) {
    axes_[semantics_.outputs[0]] = axis;
    for (std::size_t k = semantics_.stages.size(); k-- > 0;) {
      const auto& its = axes_[semantics_.input_count + k];
      if (its && !follow(*semantics_.stages[k].body, semantics_.stages[k].index[*its]))
        return false;
    }
    return true;
  }
  std::optional<std::size_t> of_input(std::size_t k) const { return axes_[k]; }

 private:
  bool follow(const ExprNode& e, core::Symbol place) {
    if (e.kind == ExprKind::kRead) {
      for (std::size_t d = 0; d < e.index.size(); ++d) {
        if (e.index[d] != Polynomial(place)) continue;
        auto& known = axes_[e.tensor];
        if (known && *known != d) return false;
        known = d;
      }
    }
    for (const auto& alternative : e.alternatives)
      if (!follow(*alternative.body, place)) return false;
    for (const auto& argument : e.arguments)
      if (!follow(*argument, place)) return false;
    return true;
  }

  const ops::Semantics& semantics_;
  std::vector<std::optional<std::size_t>> axes_;  // by tensor: inputs, then stages
};

std::vector<std::optional<std::size_t>> axis_before_reshape(const Graph& graph, const Node& node,
                                                            std::size_t axis) {
  const core::Shape& before = graph.tensor(node.inputs[0]).type.shape;
  const core::Shape& after = graph.tensor(node.outputs[0]).type.shape;
  for (std::size_t d = 0; d < before.size(); ++d)
    if (place_in_shape(node, before, d, after) == axis) return {d};
  return {std::nullopt};
}

std::vector<std::optional<std::size_t>> axes_read(const Graph& graph, const Node& node,
                                                  std::size_t axis) {
  if (node.op->movement == core::Movement::kReshape) return axis_before_reshape(graph, node, axis);
  std::vector<TensorType> inputs, outputs;
  for (const core::TensorId id : node.inputs) {
    inputs.push_back(id.valid() ? graph.tensor(id).type : TensorType());
    if (!id.valid()) inputs.back().shape_known = false;
  }
  for (const core::TensorId id : node.outputs) outputs.push_back(graph.tensor(id).type);
  const ops::Semantics semantics =
      ops::definition_of(node)->semantics({node.attributes, inputs, outputs});
  PlaceFinder finder(semantics);
  std::vector<std::optional<std::size_t>> axes(node.inputs.size());
  if (!finder.find(axis)) return axes;
  for (std::size_t k = 0; k < axes.size(); ++k) axes[k] = finder.of_input(k);
  return axes;
}

}  // namespace

std::optional<CarriedAxis> carried_axis(const Graph& graph, const Node& node, std::size_t axis) {
  CarriedAxis carried{axes_read(graph, node, axis), {}};
  bool is_read = false;
  for (const auto& its : carried.operands) is_read = is_read || its;
  if (!is_read) return std::nullopt;
  auto places = kept_axis(graph, node, carried.operands);
  if (!places || (*places)[0] != axis) return std::nullopt;
  carried.results = *std::move(places);
  return carried;
}

}  // namespace soapstone::transforms
