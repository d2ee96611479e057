// The files that show a step of a plan.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "parallel/simulation/step_simulation.h"

namespace soapstone::cli {

struct PlanPictures {
  std::string svg, trace;  ///< Paths; empty: not wanted.
};

/// One simulation for all pictures, or why there is none; nothing if none is wanted.
using ToldStep = std::optional<core::Result<parallel::SimulatedStep>>;

/// `topology`: name or file; empty: that of the plan.
ToldStep tell_step(const parallel::PlanDocument& plan, const std::string& topology,
                   const PlanPictures& pictures, const jobs::Context& context);

/// What the pictures say that a step takes, if there are any.
std::optional<double> told_us(const ToldStep& step);

/// Errors: those of writing.
core::Status write_step_pictures(const parallel::SimulatedStep& step, const PlanPictures& pictures);

/// A plan that cannot be drawn is an error only if there is no other output: else its result
/// stands, and there is a warning. Errors: those of jobs::simulate_plan() and of writing.
core::Status write_pictures(const ToldStep& step, const PlanPictures& pictures,
                            bool has_other_output, const jobs::Context& context);

}  // namespace soapstone::cli
