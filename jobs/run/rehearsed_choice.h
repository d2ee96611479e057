// The choice among plans for this machine by what their programs take.
#pragma once

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "jobs/plan/plan.h"

namespace soapstone::jobs {

/// Rehearses the plan, and if it is the best one also its rivals that may be faster, for
/// `request.measure_s` seconds at most; then the fastest one that fits is the plan, and the figures
/// of all that were rehearsed are in their documents. A plan that cannot run is only chosen if no
/// other one can, with a warning. Precondition: `outcome.is_here`, and it fits. Errors:
/// kInterrupted before any plan was rehearsed.
core::Status choose_by_rehearsal(PlanOutcome& outcome, const PlanRequest& request,
                                 const Context& context);

}  // namespace soapstone::jobs
