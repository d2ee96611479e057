// Limits on the integers that a model or a rule may bring in, so that size arithmetic behind them
// cannot overflow: products of two of them, and sums of a few such products, fit into 64 bits.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/graph/op_schema.h"
#include "core/graph/tensor_type.h"

namespace soapstone::ops {

/// The bound on sizes, integer attributes and coefficients in them, in either direction.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

/// Errors: kInvalidInput with the label `<op>.size_limit`.
core::Status check_attribute_sizes(const core::OpSchema& op, const core::Attributes& attributes);
/// Also refuses tensors whose number of elements does not fit into 64 bits.
core::Status check_tensor_sizes(const core::OpSchema& op, std::span<const core::TensorType> types);

}  // namespace soapstone::ops
