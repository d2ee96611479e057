// Rules with several results: where concat(f(x, a), f(x, b)) is something simpler, both parts are
// results of a split of that.
#pragma once

#include <vector>

#include "generator/terms/term.h"

namespace soapstone::generator {

/// For each side that ends in a concat of what operators made: its parts as the results of the
/// source, and a split of the other side as the target. Sizes are symbols as in `sides`.
std::vector<Sides> parts_as_results(const Sides& sides);

}  // namespace soapstone::generator
