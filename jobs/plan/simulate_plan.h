// simulate_plan(): a step of a plan, told part by part, for pictures and traces.
#pragma once

#include <string>

#include "jobs/base/context.h"
#include "parallel/simulation/step_simulation.h"

namespace soapstone::jobs {

struct SimulatePlanRequest {
  std::string topology;  ///< Empty: that of the plan, if it is a preset.
  parallel::StepSimulationOptions options;
};

/// Errors: kInvalidInput if the plan is of another topology; those of parallel::simulate_step().
core::Result<parallel::SimulatedStep> simulate_plan(const parallel::PlanDocument& plan,
                                                    const SimulatePlanRequest& request,
                                                    const Context& context = {});

}  // namespace soapstone::jobs
