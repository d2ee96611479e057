// See inspect_plan.h.
#include "jobs/plan/inspect_plan.h"

#include "core/base/file_io.h"
#include "jobs/base/guard.h"

namespace soapstone::jobs {

core::Result<parallel::PlanDocument> inspect_plan(const InspectPlanRequest& request,
                                                  const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<parallel::PlanDocument> {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(request.plan));
    auto plan = parallel::plan_from_json(text);
    if (!plan) return plan.error().at(request.plan);
    if (request.model.model.empty()) return plan;
    SOAPSTONE_ASSIGN_OR_RETURN(const MarkedModel model, load_planned_model(request.model, inner));
    const std::string& topology = request.topology.empty() ? plan->topology : request.topology;
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::Topology machine, load_topology(topology));
    if (const auto belongs = parallel::check_belongs(*plan, model.graph, machine); !belongs)
      return belongs.error().at(request.plan);
    return plan;
  });
}

}  // namespace soapstone::jobs
