#include "jobs/plan/simulate_plan.h"

#include "jobs/base/guard.h"
#include "jobs/plan/planned_model.h"

namespace soapstone::jobs {

core::Result<parallel::SimulatedStep> simulate_plan(const parallel::PlanDocument& plan,
                                                    const SimulatePlanRequest& request,
                                                    const Context& context) {
  return guarded(context, [&](const Context&) -> core::Result<parallel::SimulatedStep> {
    const std::string& name = request.topology.empty() ? plan.topology : request.topology;
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::Topology topology, load_topology(name));
    SOAPSTONE_RETURN_IF_ERROR(parallel::check_belongs(plan, topology));
    return parallel::simulate_step(plan, topology, request.options);
  });
}

}  // namespace soapstone::jobs
