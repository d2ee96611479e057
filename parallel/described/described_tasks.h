// The tasks of a step of a described plan, simulated: passes in the order of 1F1B, handovers that
// hold two stages, sums and updates.
#pragma once

#include "core/base/result.h"
#include "parallel/described/described_plan.h"
#include "parallel/described/profiles.h"
#include "parallel/described/step_figures.h"
#include "parallel/simulation/step_simulation.h"

namespace soapstone::parallel {

/// A lane for each stage of replicas that are not alike. Errors: kUnsupported if there are more
/// than kMostDevicesTold, or more tasks than a simulation takes.
core::Result<SimulatedStep> told_step(const DescribedPlan& plan, const Profiles& profiles,
                                      const StepFigures& figures);

}  // namespace soapstone::parallel
