#include "parallel/lowering/moved_sums.h"

#include <algorithm>

#include "ops/definition/registry.h"

namespace soapstone::parallel {

bool moves_sums(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  const ops::OpDefinition* const definition = ops::definition_of(node);
  if (!definition || node.outputs.size() != 1) return false;
  if (definition->op_class != ops::OpClass::kView &&
      definition->op_class != ops::OpClass::kMovement)
    return false;
  for (const core::AttributeSchema& schema : node.op->attributes)
    if (schema.role == core::AttributeRole::kReal && node.attributes.get_real(schema.name) != 0)
      return false;
  return std::ranges::count_if(node.inputs, [&](core::TensorId input) {
           return input.valid() && core::is_floating(graph.tensor(input).type.data_type);
         }) == 1;
}

}  // namespace soapstone::parallel
