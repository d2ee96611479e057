// A simulated step as a picture: a lane for each device.
#pragma once

#include <string>

#include "parallel/simulation/timeline.h"

namespace soapstone::cli {

/// SVG. What is on the critical path is outlined; a lane says which share of the time its device
/// is idle, and shows below how much memory it holds. Weights that are synchronized are gray.
std::string timeline_svg(const parallel::PlacementProblem& problem,
                         const parallel::Placement& placement, const parallel::Timeline& timeline);

}  // namespace soapstone::cli
