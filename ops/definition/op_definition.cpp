// Takes the facets of an operator apart into the schema that the graph knows and the rest.
#include "ops/definition/op_definition.h"

#include <algorithm>
#include <span>

namespace soapstone::ops {
namespace {

using core::AttributeRole;

/// The attributes that whoever asks for the movement reads by their roles.
std::span<const AttributeRole> attributes_of(Movement movement) {
  using enum core::AttributeRole;
  static constexpr AttributeRole kCutRoles[] = {kAxes, kStart, kExtent, kStep};
  static constexpr AttributeRole kSplitRoles[] = {kAxis, kParts};
  static constexpr AttributeRole kFillRoles[] = {kShape, kReal};
  static constexpr AttributeRole kAxisRole[] = {kAxis}, kShapeRole[] = {kShape};
  static constexpr AttributeRole kOrderRole[] = {kPermutation}, kTypeRole[] = {kElementType};
  switch (movement) {
  case Movement::kReshape:
  case Movement::kRepeat:
  case Movement::kDiagonal:
    return kShapeRole;
  case Movement::kPermute:
    return kOrderRole;
  case Movement::kCut:
    return kCutRoles;
  case Movement::kSplit:
    return kSplitRoles;
  case Movement::kJoin:
  case Movement::kSelect:
    return kAxisRole;
  case Movement::kConvert:
    return kTypeRole;
  case Movement::kFill:
    return kFillRoles;
  case Movement::kNone:
  case Movement::kFrame:
  case Movement::kChoose:
  case Movement::kOther:
    return {};
  }
  return {};
}

}  // namespace

OpDefinition::OpDefinition(Facets facets)
    : equation(facets.equation.get()), op_class(facets.op_class.get()), infer(facets.infer.get()),
      semantics(facets.semantics.get()), onnx(facets.onnx.get()),
      in_training(std::move(facets.in_training)) {
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
  CHECK(std::ranges::all_of(attributes_of(movement),
                            [&](AttributeRole role) { return find_role(role) != nullptr; }),
        name + ": lacks an attribute that its movement needs; the movement kOther needs none");
  CHECK(min_inputs <= max_inputs, name + ": fewest inputs above most");
  CHECK(!commutative || min_inputs >= 2, name + ": commutative needs two inputs");
}

}  // namespace soapstone::ops
