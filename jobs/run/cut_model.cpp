// See cut_model.h.
#include "jobs/run/cut_model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jobs/models/model_files.h"
#include "jobs/train/standard_step.h"
#include "models/onnx/training_notes.h"
#include "ops/gradients/gradient_operator.h"
#include "parallel/plans/plan_cuts.h"
#include "parallel/step/model_order.h"
#include "parallel/training/training_forms.h"
#include "parallel/work/saved_results.h"
#include "runtime/launches/node_kernel.h"

namespace soapstone::jobs {
namespace {

/// Leaves loops whole whose parts no graph of ordinary operators computes, and says which.
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

core::Result<std::vector<core::TensorId>> trained_tensors(const MarkedModel& forward,
                                                          const std::string& model) {
  models::TrainingNotes notes;
  const bool is_file = is_model_file(model);
  if (is_file) {
    SOAPSTONE_ASSIGN_OR_RETURN(notes, models::read_training_notes(model));
  }
  std::vector<core::TensorId> trained;
  for (std::size_t k = 0; k < forward.graph.tensor_bound(); ++k) {
    const core::TensorId id(k);
    if (!forward.graph.contains(id)) continue;
    const core::Tensor& tensor = forward.graph.tensor(id);
    const bool is_weight =
        is_file ? tensor.value && notes.initializers.contains(tensor.name) : forward.is_weight[k];
    if (is_weight && core::is_floating(tensor.type.data_type) && !tensor.type.shape.empty())
      trained.push_back(id);
  }
  return trained;
}

}  // namespace

core::Result<CutInference> cut_inference(const MarkedModel& model,
                                         const parallel::PlanDocument& plan) {
  parallel::GraphLoops loops = parallel::graph_loops(model.graph, model.is_weight);
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::PlannedCuts cuts,
                             parallel::cuts_of(plan, model.graph, loops, model.is_weight));
  const parallel::CutGraph cut{model.graph, loops, model.is_weight};
  std::vector<std::string> uncut = uncut_without_parts(cut, cuts);
  cuts = parallel::with_microbatches(cut, std::move(cuts), plan.shape.microbatches);
  return CutInference{std::move(loops), std::move(cuts), std::move(uncut)};
}

parallel::StaysNode gradients_with_kernels(runtime::Backend& backend) {
  return [&backend](const core::Graph& graph, core::NodeId node) {
    if (!ops::gradient_of(graph, node)) return false;
    const auto implementation = runtime::implementation_of(graph, node, backend);
    // Loops that are generated for any comprehension are slow where it sums over windows.
    return implementation && *implementation != "reference" &&
           !implementation->starts_with("generated");
  };
}

std::vector<bool> kept_results(const MarkedModel& forward, const parallel::PlanDocument& plan) {
  if (plan.shape.recompute == parallel::Recompute::kNothing) return {};
  const parallel::StepWork work = parallel::step_work(
      forward.graph, forward.is_weight,
      {.is_training = true, .precision = {}, .attention = parallel::Attention::kStored});
  const parallel::ModelOrder order = parallel::model_order(forward.graph, work);
  return parallel::saved_results(forward.graph, work, plan.shape.recompute,
                                 parallel::crossing(forward.graph, order, order.ends_block));
}

core::Result<CutTraining> cut_training(const MarkedModel& forward, const std::string& model,
                                       const parallel::PlanDocument& plan, CutTrainingOptions how,
                                       const Context& context) {
  context.progress.stage("differentiating");
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::TrainedForm form,
                             parallel::in_training(forward.graph));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto trained, trained_tensors(forward, model));
  parallel::TrainingOptions options{.loss = parallel::Loss::kOutput,
                                    .optimizer = plan.optimizer,
                                    .corrects_moments = true,
                                    .carried = form.carried,
                                    .weights = trained};
  for (const parallel::CarriedTensor& statistic : form.carried)
    options.frozen.push_back(statistic.source);
  options.saved = std::move(how.kept);
  if (!options.saved.empty()) options.saved.resize(form.graph.tensor_bound(), true);
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::TrainingStep step,
                             parallel::training_step(form.graph, options));
  SOAPSTONE_ASSIGN_OR_RETURN(StandardStep standard,
                             step_by_laws(std::move(step), context, how.stays));
  bool is_composed = false;
  if (how.composes) {
    auto composed = composed_step(standard, context, how.stays);
    // Some gradients would take tables that are too large.
    if (!composed && composed.error().code != core::ErrorCode::kUnsupported)
      return composed.error();
    is_composed = composed.ok();
    if (composed) standard = *std::move(composed);
  }
  context.progress.stage("cutting the step");
  const parallel::GraphLoops loops = parallel::graph_loops(forward.graph, forward.is_weight);
  const parallel::CutGraph planned{forward.graph, loops, forward.is_weight};
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::PlannedCuts cuts,
                             parallel::cuts_of(plan, forward.graph, loops, forward.is_weight));
  std::vector<std::string> uncut = uncut_without_parts(planned, cuts);
  parallel::CutStep cut =
      parallel::cut_step(standard.step, planned, cuts, {plan.shape.microbatches, plan.cuts_states});
  return CutTraining{std::move(standard.step), std::move(cut), std::move(uncut), is_composed};
}

}  // namespace soapstone::jobs
