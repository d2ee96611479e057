#include "parallel/pieces/moved_sums.h"

#include "ops/definition/registry.h"

namespace soapstone::parallel {

namespace {

std::int64_t elements_of(const core::Graph& graph, core::TensorId id) {
  return core::element_count(*core::concrete(graph.tensor(id).type.shape));
}

}  // namespace

bool passes_summands(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  const ops::OpDefinition* const definition = ops::definition_of(node);
  if (!definition || node.outputs.size() != 1) return false;
  std::int64_t read = 0;
  for (const core::TensorId input : node.inputs)
    if (input.valid() && core::is_floating(graph.tensor(input).type.data_type))
      read += elements_of(graph, input);
  const std::int64_t made = elements_of(graph, node.outputs.front());
  if (node.op->name == "add")
    return read == 2 * made && core::is_floating(graph.tensor(node.outputs.front()).type.data_type);
  if (definition->op_class != ops::OpClass::kView &&
      definition->op_class != ops::OpClass::kMovement)
    return false;
  for (const core::AttributeSchema& schema : node.op->attributes)
    if (schema.role == core::AttributeRole::kReal && node.attributes.get_real(schema.name) != 0)
      return false;
  return read > 0 && made <= read;
}

}  // namespace soapstone::parallel
