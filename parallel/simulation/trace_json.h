// A simulated step, and the same step as ranks ran it, as a trace that Chrome's about:tracing,
// Perfetto and their like show.
#pragma once

#include <string>
#include <vector>

#include "parallel/simulation/measured_lanes.h"
#include "parallel/simulation/step_simulation.h"

namespace soapstone::parallel {

/// Trace event format: a lane for each device, one for what each device sends, one for weights.
/// Events on the critical path say so. Measured lanes follow.
std::string chrome_trace(const SimulatedStep& step, const std::vector<MeasuredLane>& measured = {});

}  // namespace soapstone::parallel
