// The choice among plans for this machine by what their programs take.
#pragma once

#include "jobs/base/context.h"
#include "jobs/plan/plan.h"

namespace soapstone::jobs {

/// Rehearses the plan, and if it is the best one also its rivals that may be faster, for
/// `request.measure_s` seconds at most; then the fastest one that fits is the plan, and the figures
/// of all that were rehearsed are in their documents. A plan that cannot run is only chosen if no
/// other one can, with a warning; one that does not fit only if no other one does, and then the
/// smallest. When it is stopped, the best plan until then stays, and `outcome.was_stopped`.
/// Precondition: `outcome.is_here`, and it fits.
void choose_by_rehearsal(PlanOutcome& outcome, const PlanRequest& request, const Context& context);

}  // namespace soapstone::jobs
