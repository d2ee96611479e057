// See float_types.h. Sides are built again with other types of their leaves; the shape rules then
// say what types the results have.
#include "rules/floats/float_types.h"

#include <algorithm>

#include "core/text/literal_text.h"
#include "rules/rule/typing.h"

namespace soapstone::rules {
namespace {

using core::DataType;

bool is_other_float(DataType type) { return core::is_floating(type) && type != DataType::kFloat32; }

bool depends_on_float_type(const Graph& side) {
  for (std::size_t k = 0; k < side.tensor_bound(); ++k) {
    const TensorId id(k);
    if (side.contains(id) && is_other_float(side.tensor(id).type.data_type)) return true;
  }
  return std::ranges::any_of(side.order(), [&](NodeId id) {
    return side.node(id).op->movement == core::Movement::kConvert;
  });
}

/// The same numbers. None: that type cannot hold them.
core::LiteralPtr retyped(const core::Literal& literal, DataType type) {
  const auto texts = core::literal_values(literal);
  if (!texts) return nullptr;
  auto made = core::literal_from_values(type, literal.dims(), *texts);
  return made ? std::make_shared<const core::Literal>(*std::move(made)) : nullptr;
}

Result<Graph> with_float_type(const Graph& side, DataType type) {
  core::GraphBuilder builder(side.name(), side.symbols());
  std::vector<TensorId> mine(side.tensor_bound());
  const auto type_of = [&](const core::Tensor& tensor) {
    core::TensorType result = tensor.type;
    if (result.data_type == DataType::kFloat32) result.data_type = type;
    return result;
  };
  for (TensorId id : side.inputs())
    mine[id.index()] = builder.add_input(side.tensor(id).name, type_of(side.tensor(id)));
  for (std::size_t k = 0; k < side.tensor_bound(); ++k) {
    if (!side.contains(TensorId(k)) || !side.tensor(TensorId(k)).value) continue;
    const core::Tensor& constant = side.tensor(TensorId(k));
    core::LiteralPtr value = constant.value;
    if (value->data_type() == DataType::kFloat32 && type != DataType::kFloat32)
      value = retyped(*value, type);
    if (!value) return core::invalid_input("a constant that the type cannot hold");
    mine[k] = builder.add_constant(std::move(value), constant.name);
  }
  for (NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    std::vector<TensorId> inputs;
    for (TensorId input : node.inputs)
      inputs.push_back(input.valid() ? mine[input.index()] : input);
    std::vector<core::TensorType> types;
    for (TensorId output : node.outputs) types.push_back(side.tensor(output).type);
    const auto outputs =
        builder.add_node(*node.op, node.attributes, std::move(inputs), std::move(types), node.name);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      mine[node.outputs[k].index()] = outputs[k];
      builder.set_name(outputs[k], side.tensor(node.outputs[k]).name);
    }
  }
  std::vector<TensorId> outputs;
  for (TensorId id : side.outputs()) outputs.push_back(mine[id.index()]);
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

}  // namespace

bool depends_on_float_type(const Rule& rule) {
  return depends_on_float_type(rule.source) || depends_on_float_type(rule.target);
}

Result<Rule> with_float_type(const Rule& rule, DataType type) {
  SOAPSTONE_ASSIGN_OR_RETURN(Graph source, with_float_type(rule.source, type));
  SOAPSTONE_ASSIGN_OR_RETURN(Graph target, with_float_type(rule.target, type));
  SOAPSTONE_ASSIGN_OR_RETURN(TypedSides typed, type_sides(source, target, {}));
  Rule result = rule;
  result.source = std::move(typed.source);
  result.target = std::move(typed.target);
  result.derived = std::move(typed.derived);
  return result;
}

}  // namespace soapstone::rules
