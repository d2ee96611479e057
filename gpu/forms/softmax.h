// Softmaxes, recognized by what they compute.
#pragma once

#include "gpu/forms/flat_expression.h"

namespace soapstone::gpu {

/// True if the expression is the softmax of the tensor `scores`, which it reads as if it were in
/// memory, along its innermost axis: exp(x - m) / sum of exp(x - m), where m is the maximum.
bool is_softmax_of(const FlatExpression& expression, std::uint32_t scores);

}  // namespace soapstone::gpu
