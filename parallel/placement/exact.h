// The best placement of a small problem, by trying all: an oracle for searches and bounds.
#pragma once

#include <optional>

#include "parallel/placement/search.h"

namespace soapstone::parallel {

/// None if more than `most_nodes` partial placements would have to be looked at. `proposals` of the
/// result counts them.
std::optional<PlacementSearchResult> exact_placement(const PlacementProblem& problem,
                                                     std::uint64_t most_nodes);

}  // namespace soapstone::parallel
