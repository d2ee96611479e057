// A simulated step as a picture: a lane for each device, or for each stage of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "parallel/simulation/measured_lanes.h"
#include "parallel/simulation/step_simulation.h"

namespace soapstone::cli {

/// SVG. Colors say what a part does, a red line what is on the critical path; a lane says which
/// share of the time it is idle, and shows below how much memory it holds. Sums of gradients and
/// updates of weights are drawn within the lane, lower than parts, as they run beside them. Below
/// are measured lanes, on the same scale of time.
std::string step_svg(const parallel::SimulatedStep& step,
                     const std::vector<parallel::MeasuredLane>& measured = {});

}  // namespace soapstone::cli
