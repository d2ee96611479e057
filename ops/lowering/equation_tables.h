// Solves equations between index variables for whole tables: a sum over positions of which at most
// one fits becomes that position.
#pragma once

#include <vector>

#include "ops/lowering/index_space.h"

namespace soapstone::ops {

/// Defines binders in `space` by the equations among the constraints, as far as each has at most
/// one value for all others, and takes these equations out. Where an equation has no solution in
/// the binder's range, the binder has its lowest value there and a table of `masks` is 0.
/// Binders that are defined are taken out of `binders`.
void solve_equations(IndexSpace& space, std::vector<Symbol>& binders,
                     std::vector<Constraint>& constraints, std::vector<IndexTable>& masks);

}  // namespace soapstone::ops
