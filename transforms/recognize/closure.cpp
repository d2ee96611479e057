#include "transforms/recognize/closure.h"

#include <algorithm>
#include <iterator>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "transforms/recognize/region_text.h"

namespace soapstone::transforms {

using core::NodeId;
using core::TensorId;

std::set<NodeId> nodes_between(const core::Graph& graph, TensorId x, TensorId y) {
  std::set<NodeId> nodes;
  std::vector<TensorId> open{y};
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    const NodeId producer = graph.tensor(id).producer;
    if (id == x || !producer.valid() || graph.is_constant_expression(id) ||
        !nodes.insert(producer).second)
      continue;
    const auto& inputs = graph.node(producer).inputs;
    std::ranges::copy_if(inputs, std::back_inserter(open), &TensorId::valid);
  }
  return nodes;
}

std::vector<std::vector<double>> results_of(const core::Graph& graph, TensorId x,
                                            const core::TensorType& type,
                                            const std::vector<NodeId>& nodes,
                                            const std::vector<double>& values) {
  const bool is_own_type = type == graph.tensor(x).type;
  core::GraphBuilder builder;
  std::map<TensorId, TensorId> made;
  made.emplace(x, builder.add_input("x", type));
  std::vector<TensorId> results;
  for (const NodeId id : nodes) {
    const core::Node& node = graph.node(id);
    std::vector<TensorId> operands;
    for (const TensorId input : node.inputs) {
      if (!made.contains(input)) {
        const core::Shape shape = is_own_type ? graph.tensor(input).type.shape : core::Shape{};
        const auto number = ops::append_filled(builder, shape, *number_of(graph, input));
        if (!number) return {};
        made.emplace(input, *number);
      }
      operands.push_back(made.at(input));
    }
    const auto result = ops::append(builder, node.op->name, operands, node.attributes);
    if (!result) return {};
    made.emplace(node.outputs[0], (*result)[0]);
    results.push_back((*result)[0]);
  }
  builder.set_outputs(results);
  const auto alone = std::move(builder).finish();
  if (!alone) return {};
  auto computed = ops::evaluate_graph<double>(*alone, std::vector<std::vector<double>>{values});
  return computed ? *std::move(computed) : std::vector<std::vector<double>>();
}

}  // namespace soapstone::transforms
