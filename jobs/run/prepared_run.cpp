// See prepared_run.h.
#include "jobs/run/prepared_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/file_io.h"
#include "jobs/base/usage_error.h"
#include "ops/analysis/analysis.h"
#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/lowering/step_cuts.h"
#include "parallel/plans/plan_cuts.h"
#include "parallel/running/cut_sums.h"
#include "parallel/running/pieces_of_values.h"

namespace soapstone::jobs {
namespace {

/// Operations of a model that are run in the prime field without being asked: about a second.
constexpr double kMostCheckedWork = 2e7;

double work_of_model(const core::Graph& graph) {
  double work = 0;
  for (const core::NodeId id : graph.order()) work += ops::work_of(graph, id).flops;
  return work;
}

/// The preset of this machine has the present speed of its processors, which may change.
bool is_this_machine(const RunPlanRequest& request, const parallel::PlanDocument& plan) {
  return request.topology.empty() && plan.topology == "local";
}

}  // namespace

void PreparedRun::drop_model() {
  model.planned = {};
  model.whole = {};
  model.weights.clear();
}

core::Result<parallel::PlanDocument> read_plan(const RunPlanRequest& request) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(request.plan));
  auto plan = parallel::plan_from_json(text);
  if (!plan) return plan.error().at(request.plan);
  if (plan->is_training)
    return core::unsupported("the plan is for a step of training, and only inference is run",
                             "plan without `train`")
        .at(request.plan);
  return plan;
}

core::Result<PreparedRun> prepare_run(const RunPlanRequest& request, parallel::PlanDocument plan,
                                      const Context& context) {
  const std::string& name = request.topology.empty() ? plan.topology : request.topology;
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::Topology topology, load_topology(name));
  PreparedRun prepared{std::move(plan), std::move(topology), {}, {}, {}, {}, {}};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_exact_backend(request.device));
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.model, load_run_model(request.model, *backend, context));
  const core::Graph& graph = prepared.model.planned.graph;
  const std::vector<bool>& is_weight = prepared.model.planned.is_weight;
  auto belongs = parallel::check_belongs(prepared.plan, graph, is_weight);
  if (belongs && !is_this_machine(request, prepared.plan))
    belongs = parallel::check_belongs(prepared.plan, prepared.topology);
  if (!belongs) return belongs.error().at(request.plan);
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.inputs,
                             inputs_of_run(prepared.model, request.inputs, request.seed));
  context.progress.stage("writing the programs of ranks");
  const parallel::GraphLoops loops = parallel::graph_loops(graph, is_weight);
  const auto planned = parallel::cuts_of(prepared.plan, graph, loops, is_weight);
  if (!planned) return planned.error().at(request.plan);
  const parallel::PlannedCuts cuts = parallel::with_microbatches(
      {graph, loops, is_weight}, *planned, prepared.plan.shape.microbatches);
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.programs, parallel::lower(graph, loops, is_weight, cuts));
  const std::vector<bool> behind = parallel::behind_cut_sums(graph, loops, cuts);
  for (std::size_t k = 0; k < graph.outputs().size(); ++k) {
    const core::TensorId output = graph.outputs()[k];
    const core::Graph& whole = prepared.model.whole;
    prepared.results.push_back({output, whole.tensor(whole.outputs()[k]).name,
                                graph.tensor(output).type, behind[output.index()]});
  }
  prepared.names = parallel::tensor_names(graph);
  return prepared;
}

core::Result<ProgramCheck> check_prepared(const PreparedRun& prepared, const Context& context) {
  const core::Graph& graph = prepared.model.planned.graph;
  if (const double work = work_of_model(graph); work > kMostCheckedWork)
    return ProgramCheck{false, fmt::format("the model takes {:.2g} operations, more than {:.2g}",
                                           work, kMostCheckedWork)};
  context.progress.stage("checking the programs in the prime field");
  const auto difference = parallel::check_programs(graph, prepared.programs, 1);
  if (!difference && difference.error().code == core::ErrorCode::kUnsupported)
    return ProgramCheck{false, difference.error().to_string()};
  if (!difference) return difference.error();
  if (!*difference) return ProgramCheck{true, {}};
  const parallel::PlanDifference& first = **difference;
  const std::string who =
      first.rank < 0 ? "no rank has" : fmt::format("rank {} has another", first.rank);
  return core::Error{
      core::ErrorCode::kInternal,
      fmt::format("the programs of the ranks do not compute the model: {} element [{}] of '{}'",
                  who, fmt::join(first.index, ", "), prepared.names[first.tensor.index()]),
      {},
      "this is a fault of soapstone: please report it with the plan and the model"};
}

std::vector<core::LiteralPtr> weight_pieces(const PreparedRun& prepared, std::size_t rank) {
  std::vector<core::LiteralPtr> pieces;
  for (const parallel::HeldPiece& held : prepared.programs[rank].inputs) {
    const auto weight = prepared.model.weights.find(held.tensor);
    pieces.push_back(weight == prepared.model.weights.end()
                         ? nullptr
                         : parallel::value_of_piece(weight->second, held.piece));
  }
  return pieces;
}

std::vector<core::LiteralPtr> input_pieces(const PreparedRun& prepared, std::size_t rank) {
  std::vector<core::LiteralPtr> pieces;
  const std::vector<core::TensorId>& data = prepared.model.data;
  for (const parallel::HeldPiece& held : prepared.programs[rank].inputs) {
    const auto at = std::ranges::find(data, held.tensor);
    if (at == data.end()) {
      pieces.push_back(nullptr);
      continue;
    }
    const auto& whole = prepared.inputs[static_cast<std::size_t>(at - data.begin())];
    pieces.push_back(
        parallel::value_of_piece(std::make_shared<const core::Literal>(whole), held.piece));
  }
  return pieces;
}

}  // namespace soapstone::jobs
