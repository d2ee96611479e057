// Recognizes in a definition that values of an operand select elements.
#pragma once

#include <optional>

#include "ops/language/comprehension.h"

namespace soapstone::verifier {

/// The place p if the expression is a sum over one v of [p = v]·…, where p is an element that does
/// not depend on v.
std::optional<ops::Expr> selecting_place(const ops::ExprNode& sum);

/// A place p of which an operator demands 0 ≤ p < size.
struct Selection {
  ops::Expr place;
  ops::Polynomial size;
};

/// The place p if the stage is a sum over 0 ≤ v < size of [p = v]·…, where p is an index that is
/// counted from the end if it is negative, and the operator requires −size ≤ index < size.
std::optional<Selection> selection_of(const ops::Semantics& meaning, const ops::Stage& stage);

}  // namespace soapstone::verifier
