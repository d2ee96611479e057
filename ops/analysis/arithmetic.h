// Recognizes the elementwise operators that are one of the four operations of arithmetic, by their
// comprehensions.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/op_schema.h"

namespace soapstone::ops {

enum class Arithmetic : std::uint8_t { kNone, kSum, kDifference, kProduct, kQuotient };

/// The operation that the operator applies to its two operands; kNone: it is none of the four.
/// Complexity: a look-up in a table that the first call makes; safe from any thread.
Arithmetic arithmetic_of(const core::OpSchema& op);

/// The name of the operator for one of the four.
const std::string& operator_for(Arithmetic operation);

/// Whether it is one over its only operand.
bool is_inverse(const core::OpSchema& op);

}  // namespace soapstone::ops
