// Tells what the expressions of a comprehension are made of.
#pragma once

#include "core/graph/op_schema.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// Whether a small change of an operand can change a result by 1 or more: some function in it has
/// integers as its values alone.
bool has_steps(const Semantics& semantics);

/// Whether it names a number other than 0, 1 and −1, be it an attribute's.
bool names_numbers(const Semantics& semantics);

/// Whether every result is an element of an operand, 0, 1, or a number among the attributes: it
/// computes nothing that the operands' type could be too narrow for. False also where that is not
/// evident.
bool only_chooses(const Semantics& semantics, const core::Attributes& attributes);

}  // namespace soapstone::ops
