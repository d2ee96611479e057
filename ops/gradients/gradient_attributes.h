// What the attributes of a gradient say of the operator that it belongs to. A part of
// gradient_operator and append_gradient.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/definition/op_definition.h"

namespace soapstone::ops::gradients {

inline constexpr const char* kInput = "of_input";
inline constexpr const char* kShapes = "input_shapes";
inline constexpr const char* kTypes = "input_types";

/// Of each type its rank and its sizes, −1 where it is left out.
std::vector<Polynomial> written_shapes(std::span<const TensorType> inputs);
/// Empty if all inputs have the type of the cotangents.
std::string written_types(std::span<const TensorType> inputs, core::DataType of_cotangents);

/// Both sides of the operator of which a gradient is asked for.
struct Forward {
  std::vector<TensorType> inputs, outputs;
  std::size_t input = 0;
  std::vector<bool> has_cotangent;
};

/// `types` are those of the gradient's inputs; element types are not read yet. None: the attributes
/// do not say how many of the inputs are the operator's.
std::optional<Forward> forward_of(const core::Attributes& attributes,
                                  std::span<const TensorType> types);
/// Sets the element types of the inputs. Whether the attribute is a list of as many types.
bool read_types(const core::Attributes& attributes, Forward& forward);
/// kOther if there is none.
core::DataType type_of_cotangents(std::span<const TensorType> cotangents);

/// The derivative of the operator's meaning. Precondition: all types are complete.
Semantics semantics_of_gradient(const OpDefinition& op, const core::Attributes& attributes,
                                const Forward& forward);

}  // namespace soapstone::ops::gradients
