// ONNX operators on integers that no operator of ours expresses: a model that computes them at run
// time keeps them as they are, and only known values are computed with the meanings given here.
#pragma once

#include <optional>
#include <span>

#include "core/graph/literal.h"
#include "ops/definition/onnx_mapping.h"
#include "ops/language/comprehension.h"

namespace soapstone::models {

/// The only result of a node, as a comprehension.
struct IntegerMeaning {
  ops::Semantics semantics;
  core::DataType type;
  core::Dims dims;
};

/// The meaning of Div, Mod, Range, ReduceProd and Trilu on known integers; none for other
/// operators, for reals (but those of a Range that are whole numbers) and for nodes that are not as
/// ONNX has them. `inputs`: the values of the node's inputs, of any size, unlike those that a
/// reader of operators sees. Precondition: the first input is there, and all inputs are constants.
std::optional<IntegerMeaning> integer_meaning(const ops::OnnxImport& node,
                                              std::span<const core::LiteralPtr> inputs);

/// The results that follow from types alone (Shape, Size), which no comprehension of elements says.
std::optional<core::Literal> value_of_type(const ops::OnnxImport& node,
                                           const core::TensorType& input);

/// The positions of elements that are not 0 (NonZero): how many there are depends on the elements,
/// so no comprehension says it. None for reals.
std::optional<core::Literal> positions_of_non_zeros(const core::Literal& x);

}  // namespace soapstone::models
