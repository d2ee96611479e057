// See inspect_plan.h.
#include "jobs/plan/inspect_plan.h"

#include "core/base/file_io.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

/// What makes a model of its name is nothing without a name.
core::Status check_request(const InspectPlanRequest& request) {
  const PlannedModelRequest& model = request.model;
  if (!model.model.empty()) return core::Done{};
  if (model.set.empty() && model.shapes.empty() && !model.batch) return core::Done{};
  return usage_error("`set`, `batch` and `shape` say how large a model is, and there is none",
                     "name it in `model`");
}

/// The topology is looked at if it is named, or needed for the model.
core::Status check_belongs(const parallel::PlanDocument& plan, const InspectPlanRequest& request,
                           const Context& context) {
  const bool has_model = !request.model.model.empty();
  if (!has_model && request.topology.empty()) return core::Done{};
  const std::string& name = request.topology.empty() ? plan.topology : request.topology;
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::Topology topology, load_topology(name));
  if (!has_model) return parallel::check_belongs(plan, topology);
  SOAPSTONE_ASSIGN_OR_RETURN(MarkedModel model, load_planned_model(request.model, context));
  if (plan.is_training) model = with_loss(model, context);
  return parallel::check_belongs(plan, model.graph, model.is_weight, topology);
}

}  // namespace

core::Result<parallel::PlanDocument> inspect_plan(const InspectPlanRequest& request,
                                                  const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<parallel::PlanDocument> {
    SOAPSTONE_RETURN_IF_ERROR(check_request(request));
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(request.plan));
    auto plan = parallel::plan_from_json(text);
    if (!plan) return plan.error().at(request.plan);
    if (const auto belongs = check_belongs(*plan, request, inner); !belongs)
      return belongs.error().at(request.plan);
    return plan;
  });
}

}  // namespace soapstone::jobs
