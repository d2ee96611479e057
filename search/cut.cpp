// Cutting a graph at its opaque nodes.
#include "search/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/registry.h"

namespace soapstone::search {

using core::Graph;
using core::GraphBuilder;
using core::NodeId;
using core::TensorId;

// Opaque nodes keep their ids and order in every graph derived from the original, so both sides
// get the same new inputs and outputs in the same order.
core::Result<CutGraph> cut_at_opaque(const Graph& graph) {
  CutGraph result{graph, {}, 0};
  std::vector<TensorId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (TensorId id : outputs) result.output_names.push_back(graph.tensor(id).name);
  std::vector<NodeId> opaque;
  for (NodeId id : graph.order()) {
    if (ops::is_opaque(graph.node(id))) opaque.push_back(id);
  }
  if (opaque.empty()) return result;
  std::sort(opaque.begin(), opaque.end());
  GraphBuilder builder(graph);
  for (NodeId id : opaque) {
    const core::Node& node = graph.node(id);
    for (TensorId input : node.inputs) {
      if (!input.valid() || graph.is_constant_expression(input)) continue;
      outputs.push_back(input);
      result.output_names.push_back(fmt::format("operand of {}", node.name));
    }
  }
  // Outputs first: replace_uses below must also redirect them.
  builder.set_outputs(outputs);
  for (NodeId id : opaque) {
    for (TensorId output : graph.node(id).outputs) {
      const core::Tensor& tensor = graph.tensor(output);
      if (!tensor.type.shape_known) {
        return core::unsupported(
            fmt::format("the result of opaque operator {} has no known shape, so what follows "
                        "it cannot be checked",
                        graph.node(id).name),
            "give the model's intermediate shapes, or skip the check with --verify off");
      }
      builder.replace_uses(output, builder.add_input(tensor.name, tensor.type));
    }
  }
  result.cut_nodes = static_cast<int>(opaque.size());
  SOAPSTONE_ASSIGN_OR_RETURN(result.graph, std::move(builder).finish());
  return result;
}

}  // namespace soapstone::search
