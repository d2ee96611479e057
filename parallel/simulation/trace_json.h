// A simulated step as a trace that Chrome's about:tracing, Perfetto and their like show.
#pragma once

#include <string>

#include "parallel/simulation/step_simulation.h"

namespace soapstone::parallel {

/// Trace event format: a lane for each device, one for what each device sends, one for weights.
/// Events on the critical path say so.
std::string chrome_trace(const SimulatedStep& step);

}  // namespace soapstone::parallel
