// The files that show a step of a plan.
#pragma once

#include <string>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::cli {

struct PlanPictures {
  std::string svg, trace;  ///< Paths; empty: not wanted.
};

/// `topology`: name or file; empty: that of the plan. Errors: those of jobs::simulate_plan() and of
/// writing.
core::Status write_pictures(const parallel::PlanDocument& plan, const std::string& topology,
                            const PlanPictures& pictures, const jobs::Context& context);

}  // namespace soapstone::cli
