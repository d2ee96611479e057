// inspect_plan(): what a plan says, and whether it is still that of its model and machine.
#pragma once

#include <string>

#include "jobs/plan/planned_model.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::jobs {

struct InspectPlanRequest {
  std::string plan;           ///< Path.
  PlannedModelRequest model;  ///< Without a name: it is not checked which model the plan is of.
  /// Name or path. Empty: that of the plan, if it is a preset, and looked at with a model only.
  std::string topology;
};

/// Errors: kInvalidInput if the file is no plan, or one of another model or topology; kUsage if
/// sizes of a model are given without a model.
core::Result<parallel::PlanDocument> inspect_plan(const InspectPlanRequest& request,
                                                  const Context& context = {});

}  // namespace soapstone::jobs
