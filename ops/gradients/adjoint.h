// Reverse-mode differentiation of comprehensions: the derivative of an operator's meaning is again
// a meaning, so that an operator's gradient runs, is proved about, counted and partitioned like any
// other operator, and no operator needs a hand-written one.
//
// If y = f(x) and a number L depends on y, the cotangent of y is ∂L/∂y, and the adjoint of f maps
// it to ∂L/∂x, the sum over all elements of y of ∂L/∂y·∂y/∂x.
//   - A sum or product passes its cotangent to its terms, or to its factors times the others.
//   - An element read is looked at from the other side: for an element of x the adjoint sums over
//     all places where it is read, and the equations "this is the element that is read there" are
//     solved for the positions (elimination.h).
//   - A maximum passes its cotangent to the elements that equal it; several share it evenly.
//   - A function multiplies by its derivative (derivatives.h).
//   - Conditions on indices stay conditions.
#pragma once

#include <span>
#include <vector>

#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// What an adjoint is asked for.
struct AdjointOf {
  const Semantics& forward;
  std::span<const Shape> input_shapes;  ///< Of the forward inputs.
  std::uint32_t input;                  ///< The one to whose elements L is sensitive.
  /// By output: whether L depends on it. Other cotangents are not read.
  std::vector<bool> has_cotangent;
};

/// Inputs: those of `forward`, then a cotangent for each of its outputs. One output: the cotangent
/// of the input. Only what the result depends on is computed and read; a requirement of `forward`
/// stays if all inputs that it is about are read anyway.
Semantics adjoint(const AdjointOf& question);

}  // namespace soapstone::ops
