// Solves equations between index variables, so that a sum over all positions of which one fits
// becomes that position: Σ over i, k of [i + k = j]·f(i, k) is Σ over k of f(j − k, k).
#pragma once

#include <span>
#include <vector>

#include "ops/gradients/renaming.h"

namespace soapstone::ops {

/// The values that variables take together: those of the binders for which all constraints hold.
struct IndexDomain {
  std::vector<Binder> binders;
  std::vector<Constraint> constraints;
};

/// Takes binders out of the domain whose values follow from an equation in the constraints, and
/// returns these values, in terms of the binders that are left. Of the binders in an equation the
/// longest is solved for, if its coefficient is 1 or −1: of 2·i + k = j with a short k none is, as
/// only one i in many fits each k, nor of 8·g + i = j with i < 8. What bounded a binder becomes a
/// constraint, unless it plainly holds for all variables in their ranges; `around` has those that
/// are bound outside.
Substitution eliminate(IndexDomain& domain, std::span<const Binder> around);

}  // namespace soapstone::ops
