// Tells what the expressions of a comprehension are made of.
#pragma once

#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// Whether a small change of an operand can change a result by 1 or more: some function in it has
/// integers as its values alone.
bool has_steps(const Semantics& semantics);

/// Whether it names a number other than 0, 1 and −1, be it an attribute's.
bool names_numbers(const Semantics& semantics);

}  // namespace soapstone::ops
