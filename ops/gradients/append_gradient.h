// Builds gradients of nodes.
#pragma once

#include <functional>
#include <span>

#include "core/graph/graph.h"

namespace soapstone::ops {

/// The tensor that a gradient reads in place of an input of its operator.
using OperandFunction = std::function<core::TensorId(core::TensorId)>;

/// Appends the gradient of a node of the builder by one of its inputs, given the cotangents of its
/// results (none() where nothing depends on a result). Returns none() if the derivative is 0
/// everywhere. Where the gradient is a cotangent in another order, a transpose or reshape is
/// appended, or nothing. `operand` is asked for the
/// inputs that the gradient reads; null: they are read themselves.
/// Preconditions: the node has a definition and known shapes, the input is there.
core::TensorId append_gradient(core::GraphBuilder& builder, const core::Node& node,
                               std::size_t input, std::span<const core::TensorId> cotangents,
                               const OperandFunction& operand = nullptr);

}  // namespace soapstone::ops
