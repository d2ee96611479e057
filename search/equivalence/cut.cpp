// Cutting a graph at its opaque nodes.
#include "search/equivalence/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/definition/registry.h"

namespace soapstone::search {

using core::Graph;
using core::GraphBuilder;
using core::NodeId;
using core::TensorId;

namespace {

/// The ONNX node itself, which names its results; a graph may have been put into another order.
std::string identity(const core::Node& node) {
  return node.attributes.find("proto") != nullptr ? node.attributes.get_text("proto") : node.name;
}

}  // namespace

std::vector<bool> hang_on_unknown_shapes(const Graph& graph) {
  std::vector<bool> hang(graph.tensor_bound());
  for (const NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    const bool opaque = ops::is_opaque(node);
    const bool behind = !opaque && std::ranges::any_of(node.inputs, [&](TensorId input) {
      return input.valid() && hang[input.index()];
    });
    for (const TensorId output : node.outputs)
      hang[output.index()] = behind || (opaque && !graph.tensor(output).type.shape_known);
  }
  return hang;
}

// Opaque nodes are the same in every graph derived from the original, so both sides get the same
// new inputs and outputs in the same order.
core::Result<CutGraph> cut_at_opaque(const Graph& graph) {
  CutGraph result{graph, {}, 0, 0};
  std::vector<NodeId> opaque;
  for (NodeId id : graph.order()) {
    if (ops::is_opaque(graph.node(id))) opaque.push_back(id);
  }
  const std::vector<bool> hang = hang_on_unknown_shapes(graph);
  std::vector<TensorId> outputs;
  const auto compare = [&](TensorId id, std::string name) {
    if (hang[id.index()]) {
      ++result.left_out;
      return;
    }
    outputs.push_back(id);
    result.output_names.push_back(std::move(name));
  };
  for (TensorId id : graph.outputs()) compare(id, graph.tensor(id).name);
  if (opaque.empty()) return result;
  std::ranges::sort(opaque, {}, [&](NodeId id) { return std::pair(identity(graph.node(id)), id); });
  GraphBuilder builder(graph);
  for (NodeId id : opaque) {
    const core::Node& node = graph.node(id);
    for (TensorId input : node.inputs) {
      if (!input.valid() || graph.is_constant_expression(input)) continue;
      compare(input, fmt::format("operand of {}", node.name));
    }
  }
  // Outputs first: replace_uses below must also redirect them.
  builder.set_outputs(outputs);
  for (NodeId id : opaque) {
    for (TensorId output : graph.node(id).outputs) {
      const core::Tensor& tensor = graph.tensor(output);
      if (tensor.type.shape_known)
        builder.replace_uses(output, builder.add_input(tensor.name, tensor.type));
    }
  }
  result.cut_nodes = static_cast<int>(opaque.size());
  SOAPSTONE_ASSIGN_OR_RETURN(result.graph, std::move(builder).finish());
  return result;
}

}  // namespace soapstone::search
