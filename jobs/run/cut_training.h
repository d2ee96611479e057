// A step of training of the model that a plan is of, and the programs of ranks that run it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "jobs/plan/planned_model.h"
#include "parallel/lowering/step_cuts.h"
#include "parallel/plans/plan_document.h"
#include "parallel/training/training_step.h"

namespace soapstone::jobs {

/// The model's step, of standard operators, and how the plan cuts it.
struct CutTraining {
  parallel::TrainingStep step;
  parallel::CutStep cut;
  /// Loops that the plan cuts and the run does not: `softmax along model`.
  std::vector<std::string> uncut;
};

/// Leaves loops whole whose parts no graph of ordinary operators computes. Returns them, for
/// people.
std::vector<std::string> uncut_without_parts(const parallel::CutGraph& model,
                                             parallel::PlannedCuts& cuts);

/// `forward` has its loss (with_loss()), `trained` are tensors of it, of which statistics of batch
/// norms stay as they are: these norms train on statistics of the whole batch. Errors:
/// kInvalidInput if there is no loss, or no weight leads to it; kUnsupported if a gradient cannot
/// be written.
core::Result<CutTraining> cut_training(const MarkedModel& forward,
                                       const std::vector<core::TensorId>& trained,
                                       const parallel::PlanDocument& plan, const Context& context);

}  // namespace soapstone::jobs
