// The graph that ranks run for a plan, the model itself or a step of its training, and how the plan
// cuts it.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "jobs/plan/planned_model.h"
#include "parallel/lowering/step_cuts.h"
#include "parallel/plans/plan_document.h"
#include "parallel/training/training_step.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

struct CutInference {
  parallel::GraphLoops loops;
  parallel::PlannedCuts cuts;
  /// Loops that the plan cuts and the run does not: `softmax along model`.
  std::vector<std::string> uncut;
};

/// In the microbatches of the plan. Errors: kInvalidInput if the plan cuts what the model has not.
core::Result<CutInference> cut_inference(const MarkedModel& model,
                                         const parallel::PlanDocument& plan);

/// The model's step, of operators for which the device has kernels, and how the plan cuts it.
struct CutTraining {
  parallel::TrainingStep step;
  parallel::CutStep cut;
  std::vector<std::string> uncut;  ///< As in CutInference.
  bool is_composed = false;        ///< No gradient has kept its operator.
};

struct CutTrainingOptions {
  std::vector<bool>
      kept;              ///< What kept_results() says of the model, or of one that it is a part of.
  bool composes = true;  ///< Gradients without a law are composed, if all of them can be.
  parallel::StaysNode stays = nullptr;  ///< Gradients that keep their operators in any case.
};

/// The gradients for which a device has kernels that know the whole gradient: compositions of
/// windows and tables are slow beside them. `backend` must outlive the result.
parallel::StaysNode gradients_with_kernels(runtime::Backend& backend);

/// Says, by tensor, which results of the forward pass the backward pass reads; others are computed
/// again. Empty: it reads any. `forward` has its loss (with_loss()).
std::vector<bool> kept_results(const MarkedModel& forward, const parallel::PlanDocument& plan);

/// `forward` has its loss. Trained are the initializers of the file `model`, or the
/// weights of the built-in network of that name, with floating-point elements and at least one
/// dimension; statistics of batch norms are not, and these norms train on statistics of the whole
/// batch. Errors: kInvalidInput if there is no loss, or no weight leads to it; kUnsupported if a
/// gradient cannot be written; those of reading the file.
core::Result<CutTraining> cut_training(const MarkedModel& forward, const std::string& model,
                                       const parallel::PlanDocument& plan,
                                       CutTrainingOptions options, const Context& context);

}  // namespace soapstone::jobs
