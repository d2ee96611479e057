// The model of a plan at sizes so small that all of its elements can be computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "jobs/plan/planned_model.h"
#include "jobs/run/resized_plan.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::jobs {

/// A model and the plan of it.
struct SizedModel {
  MarkedModel model;
  parallel::PlanDocument plan;
  std::map<std::string, std::int64_t>
      sizes;  ///< Numbers of the request that were changed, by name.
};

/// The smallest model that this can find with the same operators, wired and named alike, whose
/// loops can be cut as those of `model` are by `plan`, which belongs to it; it differs in
/// parameters of a built-in network, or in sizes that a file leaves open. `whole` is what `request`
/// names, with its loss if the plan trains. None: no size can be changed. Errors: those of reading
/// a file.
core::Result<std::optional<SizedModel>> at_small_sizes(const MarkedModel& whole,
                                                       const PlannedModelRequest& request,
                                                       const parallel::PlanDocument& plan,
                                                       const SizeLimits& limits,
                                                       const Context& context);

}  // namespace soapstone::jobs
