// A side of a rule with other sizes, node by node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::generator {

/// `shape_of` maps the shape of an input, `value_of` the value of an attribute, given the operator
/// and its name; their symbols are of `symbols`. Types of results are left open.
template <class ShapeOf, class ValueOf>
core::Result<core::Graph> rebuilt(const core::Graph& side, const core::SymbolTable& symbols,
                                  ShapeOf shape_of, ValueOf value_of) {
  core::GraphBuilder builder(side.name(), symbols);
  std::vector<core::TensorId> ids(side.tensor_bound());
  for (core::TensorId id : side.inputs()) {
    core::TensorType type = side.tensor(id).type;
    type.shape = shape_of(std::move(type.shape));
    ids[id.index()] = builder.add_input(side.tensor(id).name, std::move(type));
  }
  for (core::NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    core::Attributes attributes;
    for (const auto& [name, value] : node.attributes.values())
      attributes.set(name, value_of(*node.op, name, value));
    std::vector<core::TensorId> inputs;
    for (core::TensorId input : node.inputs)
      inputs.push_back(input.valid() ? ids[input.index()] : input);
    const core::TensorType open{core::DataType::kFloat32, {}, false};
    const auto outputs =
        builder.add_node(*node.op, std::move(attributes), std::move(inputs),
                         std::vector<core::TensorType>(node.outputs.size(), open), node.name);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      ids[node.outputs[k].index()] = outputs[k];
      builder.set_name(outputs[k], side.tensor(node.outputs[k]).name);
    }
  }
  std::vector<core::TensorId> outputs;
  for (core::TensorId id : side.outputs()) outputs.push_back(ids[id.index()]);
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

}  // namespace soapstone::generator
