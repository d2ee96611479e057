// Takes the facets of an operator apart into the schema that the graph knows and the rest.
#include "ops/definition/op_definition.h"

namespace soapstone::ops {

OpDefinition::OpDefinition(Facets facets)
    : equation(facets.equation.get()), op_class(facets.op_class.get()), infer(facets.infer.get()),
      semantics(facets.semantics.get()), onnx(facets.onnx.get()) {
  name = facets.name.get();
  attributes = facets.attributes.get();
  min_inputs = facets.inputs.get().first;
  max_inputs = facets.inputs.get().second;
  commutative = facets.is_commutative;
  averages = facets.averages;
  movement = facets.movement;
  operand_roles = std::move(facets.operands);
  CHECK(infer && semantics, name + ": shape rule and meaning must be callable");
  const bool moves = op_class == OpClass::kMovement || op_class == OpClass::kView;
  CHECK(!moves || movement != Movement::kNone, name + ": says not how it moves elements");
  CHECK(min_inputs <= max_inputs, name + ": fewest inputs above most");
  CHECK(!commutative || min_inputs >= 2, name + ": commutative needs two inputs");
}

}  // namespace soapstone::ops
