// See check_plan.h.
#include "jobs/run/check_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jobs/run/cut_model.h"
#include "jobs/run/program_check.h"
#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/plans/repeated_layers.h"
#include "parallel/running/run_figures.h"

namespace soapstone::jobs {
namespace {

/// Ranks and microbatches together, of which all are written out.
constexpr std::int64_t kMostLanes = 64;

/// Writing the programs of more, none of which are alike, takes minutes and gigabytes.
constexpr std::size_t kMostOperators = 6000;

/// The same plan on at most two positions an axis. Grains of an uneven axis stay as they are.
parallel::PlanDocument on_fewer_devices(parallel::PlanDocument plan) {
  constexpr std::int64_t kPositions = 2;
  std::int64_t devices = plan.shape.stages;
  for (parallel::PlanAxis& axis : plan.axes) {
    if (axis.shares.empty()) axis.size = std::min(axis.size, kPositions);
    devices *= axis.size;
  }
  plan.shape.model = plan.axes[0].size;
  plan.shape.any = plan.axes[1].size;
  plan.shape.batch = plan.axes[2].size;
  plan.shape.microbatches = std::min(plan.shape.microbatches, kPositions);
  plan.devices = devices;
  return plan;
}

/// The graph that ranks run, with their programs.
struct Written {
  core::Graph graph;
  std::vector<parallel::RankProgram> programs;
  std::vector<std::string> uncut;
};

/// What is checked of a model: with its loss, if it trains, and without layers that repeat.
struct CheckedModel {
  MarkedModel model;
  parallel::PlanDocument plan;
  std::vector<bool> kept;  ///< As kept_results() has it.
  std::size_t left_out = 0;
};

core::Result<CheckedModel> without_repeated_layers(MarkedModel model,
                                                   const parallel::PlanDocument& plan) {
  CheckedModel checked{{}, plan, {}, 0};
  if (plan.is_training) checked.kept = kept_results(model, plan);
  const parallel::LeftOutLayers left_out =
      parallel::repeated_layers({model.graph, model.is_weight, checked.kept}, plan);
  if (left_out.nodes > 0) {
    SOAPSTONE_ASSIGN_OR_RETURN(core::Graph shorter,
                               parallel::without_layers(model.graph, left_out));
    SOAPSTONE_ASSIGN_OR_RETURN(checked.plan, parallel::without_layers(plan, model.graph, shorter,
                                                                      model.is_weight, left_out));
    model.is_weight = parallel::weights_read(shorter, model.is_weight);
    model.graph = std::move(shorter);
  }
  checked.left_out = left_out.nodes;
  checked.model = std::move(model);
  return checked;
}

core::Result<Written> write_programs(const CheckedModel& checked, const std::string& name,
                                     const parallel::PlanDocument& plan, const Context& context) {
  const MarkedModel& model = checked.model;
  if (plan.is_training) {
    SOAPSTONE_ASSIGN_OR_RETURN(CutTraining training,
                               cut_training(model, name, plan, checked.kept, context));
    SOAPSTONE_ASSIGN_OR_RETURN(auto programs,
                               parallel::lower(training.step.graph, training.cut.loops,
                                               training.cut.is_weight, training.cut.cuts));
    return Written{training.step.graph, std::move(programs), std::move(training.uncut)};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(CutInference cut, cut_inference(model, plan));
  SOAPSTONE_ASSIGN_OR_RETURN(auto programs,
                             parallel::lower(model.graph, cut.loops, model.is_weight, cut.cuts));
  return Written{model.graph, std::move(programs), std::move(cut.uncut)};
}

}  // namespace

core::Result<PlanCheck> check_plan(const MarkedModel& model, const std::string& name,
                                   const parallel::PlanDocument& plan, const Context& context) {
  PlanCheck check;
  context.progress.stage("looking for equal layers");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const CheckedModel checked,
      without_repeated_layers(plan.is_training ? with_loss(model, context) : model, plan));
  const core::Graph& graph = checked.model.graph;
  if (graph.order().size() > kMostOperators) {
    check.why_not =
        fmt::format("the model has {} operators, more than {}, without layers that repeat",
                    graph.order().size(), kMostOperators);
    return check;
  }
  check.left_out = checked.left_out;
  check.is_smaller = checked.plan.devices * checked.plan.shape.microbatches > kMostLanes;
  SOAPSTONE_ASSIGN_OR_RETURN(
      Written written,
      write_programs(checked, name,
                     check.is_smaller ? on_fewer_devices(checked.plan) : checked.plan, context));
  context.progress.stage("checking the programs of ranks");
  check.ranks = static_cast<std::int64_t>(written.programs.size());
  check.uncut = std::move(written.uncut);
  for (const parallel::RankProgram& program : written.programs) check.steps += program.steps.size();
  SOAPSTONE_RETURN_IF_ERROR(parallel::check_exchanges(written.programs));
  SOAPSTONE_ASSIGN_OR_RETURN(const ProgramCheck computed,
                             check_in_field(written.graph, written.programs,
                                            parallel::tensor_names(written.graph), context));
  check.is_computed = computed.is_done;
  check.why_not_computed = computed.why_not;
  return check;
}

}  // namespace soapstone::jobs
