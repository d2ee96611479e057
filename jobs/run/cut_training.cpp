// See cut_training.h.
#include "jobs/run/cut_training.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jobs/train/standard_step.h"
#include "parallel/plans/plan_cuts.h"
#include "parallel/step/model_order.h"
#include "parallel/training/training_forms.h"
#include "parallel/work/saved_results.h"

namespace soapstone::jobs {
std::vector<std::string> uncut_without_parts(const parallel::CutGraph& model,
                                             parallel::PlannedCuts& cuts) {
  std::vector<std::string> uncut;
  for (const parallel::UncutLoop& loop : parallel::uncut_what_has_no_parts(model, cuts)) {
    const core::Node& node = model.graph.node(loop.node);
    uncut.push_back(fmt::format("{} along {}",
                                node.name.empty() ? node.op->name : std::string_view(node.name),
                                parallel::kAxisNames[loop.axis]));
  }
  return uncut;
}

core::Result<CutTraining> cut_training(const MarkedModel& forward,
                                       const std::vector<core::TensorId>& trained,
                                       const parallel::PlanDocument& plan, const Context& context) {
  context.progress.stage("differentiating");
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::TrainedForm form,
                             parallel::in_training(forward.graph));
  parallel::TrainingOptions options{.loss = parallel::Loss::kOutput,
                                    .optimizer = plan.optimizer,
                                    .corrects_moments = true,
                                    .carried = form.carried,
                                    .weights = trained};
  for (const parallel::CarriedTensor& statistic : form.carried)
    options.frozen.push_back(statistic.source);
  if (plan.shape.recompute != parallel::Recompute::kNothing) {
    const parallel::StepWork work = parallel::step_work(
        forward.graph, forward.is_weight,
        {.is_training = true, .precision = {}, .attention = parallel::Attention::kStored});
    const parallel::ModelOrder order = parallel::model_order(forward.graph, work);
    options.saved =
        parallel::saved_results(forward.graph, work, plan.shape.recompute,
                                parallel::crossing(forward.graph, order, order.ends_block));
    options.saved.resize(form.graph.tensor_bound(), true);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::TrainingStep step,
                             parallel::training_step(form.graph, options));
  auto written = standard_step(step, context);
  // Some gradients would take tables that are too large.
  if (!written && written.error().code == core::ErrorCode::kUnsupported)
    written = step_by_laws(std::move(step), context);
  if (!written) return written.error();
  StandardStep& standard = *written;
  context.progress.stage("cutting the step");
  const parallel::GraphLoops loops = parallel::graph_loops(forward.graph, forward.is_weight);
  const parallel::CutGraph planned{forward.graph, loops, forward.is_weight};
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::PlannedCuts cuts,
                             parallel::cuts_of(plan, forward.graph, loops, forward.is_weight));
  std::vector<std::string> uncut = uncut_without_parts(planned, cuts);
  parallel::CutStep cut =
      parallel::cut_step(standard.step, planned, cuts, {plan.shape.microbatches, plan.cuts_states});
  return CutTraining{std::move(standard.step), std::move(cut), std::move(uncut)};
}

}  // namespace soapstone::jobs
