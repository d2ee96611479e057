#include "rules/moves/joined_reshapes.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rules/moves/contraction_labels.h"
#include "rules/moves/move_text.h"
#include "rules/moves/moves.h"

namespace soapstone::rules {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

bool is_reshape(const Graph& graph, core::NodeId id) {
  return id.valid() && graph.node(id).op->movement == core::Movement::kReshape &&
         has_known_sizes(graph, graph.node(id));
}

Names shape_of(const Graph& graph, TensorId id) {
  return names_of(known_sizes(graph.tensor(id).type.shape));
}

}  // namespace

std::vector<RewritePlan> find_joined_reshapes(const Graph& graph) {
  std::vector<RewritePlan> plans;
  for (const core::NodeId id : graph.order()) {
    if (!is_reshape(graph, id) || graph.is_constant_expression(id)) continue;
    std::vector<TensorId> tensors{graph.node(id).outputs[0]};  // the last one first
    for (auto at = id; is_reshape(graph, at); at = graph.tensor(tensors.back()).producer)
      tensors.push_back(graph.node(at).inputs[0]);
    if (tensors.size() < 3) continue;
    std::ranges::reverse(tensors);
    SideText source, target;
    std::string name = "x";
    for (std::size_t k = 1; k < tensors.size(); ++k)
      name = source.reshaped(name, shape_of(graph, tensors[k - 1]), shape_of(graph, tensors[k]));
    const Names first = shape_of(graph, tensors.front());
    const std::string head =
        fmt::format("  x: {}\n", declared(graph.tensor(tensors.front()).type, first));
    const std::string joined = target.reshaped("x", first, shape_of(graph, tensors.back()));
    plans.push_back(
        {{{.results = {tensors.back()},
           .texts = {rule_text(fmt::format("{}{}", kMovesPrefix, graph.node(id).op->name), head,
                               source, {name}, target, {joined})},
           .description = "Reshapes one behind another are one."}}});
  }
  return plans;
}

}  // namespace soapstone::rules
