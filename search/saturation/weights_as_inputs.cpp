// See weights_as_inputs.h.
#include "search/saturation/weights_as_inputs.h"

#include <algorithm>

#include "core/base/check.h"
#include "search/regions/region.h"

namespace soapstone::search {

using core::Graph;
using core::NodeId;
using core::TensorId;

namespace {

Graph finished(core::GraphBuilder builder) {
  auto graph = std::move(builder).finish();
  CHECK(graph.ok(), graph.error().to_string());
  return *std::move(graph);
}

}  // namespace

WeightsAsInputs weights_as_inputs(const Graph& region) {
  WeightsAsInputs parts;
  core::GraphBuilder builder({}, region.symbols());
  std::vector<TensorId> mine(region.tensor_bound());
  const auto add_input = [&](TensorId id, bool weight) {
    mine[id.index()] = builder.add_input({}, region.tensor(id).type);
    parts.is_weight.push_back(weight);
    parts.inputs.push_back(id);
  };
  for (const TensorId id : region.inputs()) add_input(id, false);
  const auto id_of = [&](TensorId id) {
    if (!id.valid()) return id;
    if (!mine[id.index()].valid()) mine[id.index()] = builder.add_constant(region.tensor(id).value);
    return mine[id.index()];
  };
  for (const NodeId id : region.order()) {
    const core::Node& node = region.node(id);
    for (const TensorId input : node.inputs)
      if (input.valid() && !mine[input.index()].valid() && is_free_weight(region, input))
        add_input(input, true);
  }
  for (const NodeId id : region.order()) {
    const core::Node& node = region.node(id);
    if (mine[node.outputs[0].index()].valid()) continue;  // a generated weight
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) inputs.push_back(id_of(input));
    std::vector<core::TensorType> types;
    for (const TensorId output : node.outputs) types.push_back(region.tensor(output).type);
    const auto made =
        builder.add_node(*node.op, node.attributes, std::move(inputs), std::move(types));
    for (std::size_t k = 0; k < made.size(); ++k) mine[node.outputs[k].index()] = made[k];
    parts.nodes.push_back(id);
  }
  std::vector<TensorId> outputs;
  for (const TensorId id : region.outputs()) outputs.push_back(id_of(id));
  builder.set_outputs(std::move(outputs));
  parts.graph = finished(std::move(builder));
  return parts;
}

Graph with_weights(const Graph& graph, const WeightsAsInputs& parts, const Graph& region) {
  core::GraphBuilder builder(graph);
  for (std::size_t k = 0; k < parts.inputs.size(); ++k) {
    if (!parts.is_weight[k]) continue;
    const core::Tensor& weight = region.tensor(parts.inputs[k]);
    if (weight.value) {
      builder.replace_uses(graph.inputs()[k], builder.add_constant(weight.value));
    } else {
      const core::Node& node = region.node(weight.producer);
      builder.replace_uses(graph.inputs()[k],
                           builder.add_node(*node.op, node.attributes, {}, {weight.type})[0]);
    }
  }
  return finished(std::move(builder));
}

}  // namespace soapstone::search
