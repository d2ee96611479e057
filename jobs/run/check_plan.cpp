// See check_plan.h.
#include "jobs/run/check_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jobs/devices/devices.h"
#include "jobs/run/cut_model.h"
#include "jobs/run/program_check.h"
#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/running/run_figures.h"

namespace soapstone::jobs {
namespace {

/// Ranks and microbatches together, of which all are written out.
constexpr std::int64_t kMostLanes = 64;

/// Writing the programs of more takes minutes and gigabytes.
constexpr std::size_t kMostOperators = 2500;

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

core::Result<Written> write_programs(const MarkedModel& model, const std::string& name,
                                     const parallel::PlanDocument& plan, const Context& context) {
  if (plan.is_training) {
    // What would run the plan where nothing else is asked for.
    SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend(DeviceRequest()));
    SOAPSTONE_ASSIGN_OR_RETURN(CutTraining training, cut_training(with_loss(model, context), name,
                                                                  plan, *backend, context));
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
  if (const std::size_t operators = model.graph.order().size(); operators > kMostOperators) {
    check.why_not =
        fmt::format("the model has {} operators, more than {}", operators, kMostOperators);
    return check;
  }
  check.is_smaller = plan.devices * plan.shape.microbatches > kMostLanes;
  const parallel::PlanDocument checked = check.is_smaller ? on_fewer_devices(plan) : plan;
  SOAPSTONE_ASSIGN_OR_RETURN(Written written, write_programs(model, name, checked, context));
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
