// Constant folding: the constant part of a graph is a graph of its own, without inputs, and the
// backend runs it once.
#include <utility>
#include <vector>

#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::GraphBuilder;
using core::NodeId;
using core::TensorId;

/// Small ones are what name_constants() found, and are written as they came.
bool is_compact(const Graph& graph, const core::Node& node) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 16;
  const auto dims = core::concrete(graph.tensor(node.outputs[0]).type.shape);
  return node.op->movement == core::Movement::kFill &&
         core::element_count(dims.value()) > kMostElements;
}

/// Constant expressions that something else needs: their values are what has to be known.
std::vector<TensorId> frontier(const Graph& graph, std::span<const NodeId> kept) {
  std::vector<bool> stays(graph.node_bound(), false);
  for (NodeId id : kept) {
    if (graph.contains(id)) stays[id.index()] = true;
  }
  std::vector<TensorId> result;
  for (NodeId id : graph.order()) {
    if (stays[id.index()] || !graph.is_constant_expression(id) || is_compact(graph, graph.node(id)))
      continue;
    for (TensorId output : graph.node(id).outputs) {
      bool needed = graph.is_output(output);
      for (NodeId reader : graph.consumers(output)) {
        needed = needed || stays[reader.index()] || !graph.is_constant_expression(reader);
      }
      if (needed) result.push_back(output);
    }
  }
  return result;
}

core::Result<Graph> only(const Graph& graph, const std::vector<TensorId>& outputs) {
  GraphBuilder builder(graph);
  builder.set_outputs(outputs);
  return std::move(builder).finish();
}

}  // namespace

core::Result<Graph> fold_constants(const Graph& graph, runtime::Backend& backend,
                                   std::span<const NodeId> kept) {
  const std::vector<TensorId> outputs = frontier(graph, kept);
  if (outputs.empty()) return graph;
  SOAPSTONE_ASSIGN_OR_RETURN(const Graph constants, only(graph, outputs));
  SOAPSTONE_ASSIGN_OR_RETURN(auto executable, runtime::Executable::make(constants, backend));
  SOAPSTONE_ASSIGN_OR_RETURN(auto values,
                             executable.run(runtime::random_inputs(constants, /*seed=*/0)));
  GraphBuilder builder(graph);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const TensorId folded = builder.add_constant(
        std::make_shared<const core::Literal>(std::move(values[k])), graph.tensor(outputs[k]).name);
    builder.replace_uses(outputs[k], folded);
  }
  return std::move(builder).finish();
}

}  // namespace soapstone::search
