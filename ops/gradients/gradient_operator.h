// Gradients as operators: `conv_grad` is to `conv` what the adjoint of its comprehension is.
// Nothing is written by hand for an operator; a graph holds, prints, runs and counts a gradient
// like any other node.
//
//   dw = conv_grad(x, _, _, dy; of_input=1, input_shapes=[4, 8, 3, 9, 9, 4, 16, 3, 3, 3, 1, 16], …)
//
// Inputs are those of the operator, then the cotangents of its results; those that the derivative
// does not read are left out, so that a graph does not keep what nobody needs. Attributes are those
// of the operator and:
//   of_input      the input whose cotangent the result is
//   input_shapes  the shapes of all inputs: of each its rank and its sizes, −1 for one left out
//   input_types   their element types, where these are not all that of the cotangents
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "ops/definition/op_definition.h"

namespace soapstone::ops {

/// `conv_grad` for `conv`: names that end like this are those of gradients.
std::string gradient_name(const std::string& op);

/// Shape rule and meaning are derived from those of `op`, which outlives the gradient.
/// Labels: `<op>_grad.input_shapes`, `.input_types`, `.of_input`, `.inputs`, `.cotangents`.
OpDefinition gradient_operator(const OpDefinition& op);

/// Whether a gradient of `op` has a meaning with these attributes and inputs: whether the operator
/// has results for the shapes that the attributes list.
bool gradient_fits(const OpDefinition& op, const core::Attributes& attributes,
                   const std::vector<core::TensorType>& inputs);

/// The node of which a node with a gradient operator is a gradient, as far as it shows.
struct GradientOf {
  const OpDefinition* op = nullptr;
  std::vector<core::TensorType> inputs;  ///< shape_known is false where left out.
  std::size_t input = 0;                 ///< The input that the result is the cotangent of.
};
/// None for other nodes.
std::optional<GradientOf> gradient_of(const core::Graph& graph, core::NodeId node);

}  // namespace soapstone::ops
