// The measured costs of a topology's devices.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "cost/models/cost_model.h"
#include "jobs/base/context.h"
#include "jobs/plan/plan.h"
#include "parallel/topology/topology.h"

namespace soapstone::jobs {

/// The model refers to the others.
struct PartCosts {
  std::unique_ptr<runtime::Backend> backend;
  std::unique_ptr<cost::CostDatabase> database;
  std::unique_ptr<cost::CostModel> model;
  bool is_here = false;  ///< The devices are threads of this machine.
};

/// Errors: kUsage: the plan is to be for another type than the model has; kUnsupported: devices
/// with different keys; kUnavailable: the database cannot be opened or knows nothing of the device.
core::Result<PartCosts> open_part_costs(const PlanRequest& request,
                                        const parallel::Topology& topology, const Context& context);

}  // namespace soapstone::jobs
