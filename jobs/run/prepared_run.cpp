// See prepared_run.h.
#include "jobs/run/prepared_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "jobs/base/usage_error.h"
#include "jobs/run/checkpoint.h"
#include "jobs/run/cut_model.h"
#include "jobs/train/trained_model.h"
#include "models/onnx/training_notes.h"
#include "parallel/lowering/lowering.h"
#include "parallel/running/cut_sums.h"
#include "parallel/running/pieces_of_values.h"
#include "parallel/topology/presets.h"

namespace soapstone::jobs {
namespace {

/// Errors: kUsage for settings of training where the plan is for inference; kUnsupported for a
/// dropout.
core::Status check_training(const RunPlanRequest& request, const parallel::PlanDocument& plan) {
  const TrainingSettings& training = request.training;
  if (!plan.is_training) {
    const bool is_set = !training.checkpoint.empty() || !training.resume.empty() ||
                        training.every != 0 || training.drop_dropout;
    return is_set ? usage_error("the plan is for inference, and checkpoints and dropout are for "
                                "training",
                                "plan with `train`")
                  : core::Status(core::Done{});
  }
  if (training.every < 0 || (training.every > 0 && training.checkpoint.empty()))
    return usage_error("`every` is a number of steps between checkpoints",
                       "give the path of the archive in `checkpoint`");
  if (training.drop_dropout || !is_model_file(request.model.model)) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const models::TrainingNotes notes,
                             models::read_training_notes(request.model.model));
  return refuse_dropouts(notes.dropouts, request.model.model);
}

/// A model's results are called as in its file, a step's as what they replace.
std::string name_of_result(const PreparedRun& prepared,
                           const std::vector<std::string>& names_in_file, std::size_t number) {
  if (!prepared.training && number < names_in_file.size()) return names_in_file[number];
  const core::Graph& whole = prepared.model.whole;
  const core::TensorId output = whole.outputs()[number];
  if (prepared.training)
    if (const auto replaced = prepared.training->replaced.find(output);
        replaced != prepared.training->replaced.end())
      return parallel::weight_name(whole, replaced->second);
  if (prepared.training && output == prepared.training->loss) return "loss";
  return whole.tensor(output).name;
}

double accepted_error(const PreparedRun& prepared, core::TensorId output) {
  constexpr double kShare = 0.01;  // of the learning rate
  if (!prepared.training || prepared.plan.optimizer < parallel::Optimizer::kAdam) return 0;
  return prepared.training->weights.contains(output) ? kShare * prepared.training->learning_rate
                                                     : 0;
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
  SOAPSTONE_RETURN_IF_ERROR(check_training(request, *plan));
  return plan;
}

namespace {

/// A plan knows the name of its topology, and not in which file that is.
core::Result<parallel::Topology> topology_of(const RunPlanRequest& request,
                                             const parallel::PlanDocument& plan) {
  if (!request.topology.empty()) return load_topology(request.topology);
  auto topology = parallel::preset_topology(plan.topology);
  if (topology) return topology;
  return core::invalid_input(
             fmt::format("the plan is for the topology '{}', which is none of the presets",
                         plan.topology),
             "give the topology's file in `topology`")
      .at(request.plan);
}

/// The graph that ranks run, and how it is cut.
struct CutRun {
  parallel::GraphLoops loops;
  parallel::PlannedCuts cuts;
};

core::Result<CutRun> cut_step_of(const RunPlanRequest& request, runtime::Backend& backend,
                                 const Context& context, PreparedRun& prepared) {
  RunModel& model = prepared.model;
  SOAPSTONE_ASSIGN_OR_RETURN(
      prepared.batches,
      batches_of(model.planned.graph, data_of(model.planned), request.inputs, request.seed));
  auto training = cut_training(
      model.planned, request.model.model, prepared.plan,
      {kept_results(model.planned, prepared.plan), true, gradients_with_kernels(backend)}, context);
  if (!training) return training.error().at(request.model.model);
  prepared.uncut = std::move(training->uncut);
  prepared.training = become_step(*training, model);
  prepared.training->learning_rate = request.training.learning_rate;
  return CutRun{std::move(training->cut.loops), std::move(training->cut.cuts)};
}

core::Result<CutRun> cut_model_of(const RunPlanRequest& request, PreparedRun& prepared) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto inputs,
                             inputs_of_run(prepared.model, request.inputs, request.seed));
  prepared.batches.push_back(std::move(inputs));
  auto cut = cut_inference(prepared.model.planned, prepared.plan);
  if (!cut) return cut.error().at(request.plan);
  prepared.uncut = std::move(cut->uncut);
  return CutRun{std::move(cut->loops), std::move(cut->cuts)};
}

}  // namespace

core::Result<PreparedRun> prepare_run(const RunPlanRequest& request, parallel::PlanDocument plan,
                                      const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(parallel::Topology topology, topology_of(request, plan));
  PreparedRun prepared{std::move(plan), std::move(topology), {}, {}, {}, {}, {}, {}, {}};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_exact_backend(request.device));
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.model, load_run_model(request.model, *backend, context));
  MarkedModel& planned = prepared.model.planned;
  if (prepared.plan.is_training) planned = with_loss(planned, context);
  auto belongs = parallel::check_belongs(prepared.plan, planned.graph, planned.is_weight);
  if (belongs && !is_this_machine(request, prepared.plan))
    belongs = parallel::check_belongs(prepared.plan, prepared.topology);
  if (!belongs) return belongs.error().at(request.plan);
  context.progress.stage("writing the programs of ranks");
  SOAPSTONE_ASSIGN_OR_RETURN(const CutRun run,
                             prepared.plan.is_training
                                 ? cut_step_of(request, *backend, context, prepared)
                                 : cut_model_of(request, prepared));
  const core::Graph& graph = planned.graph;
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.programs,
                             parallel::lower(graph, run.loops, planned.is_weight, run.cuts));
  const std::vector<std::string> names_in_file = models::output_names(*planned.header);
  const std::vector<bool> behind = parallel::behind_cut_sums(graph, run.loops, run.cuts);
  for (std::size_t k = 0; k < graph.outputs().size(); ++k) {
    const core::TensorId output = graph.outputs()[k];
    prepared.results.push_back({output, name_of_result(prepared, names_in_file, k),
                                graph.tensor(output).type, behind[output.index()],
                                accepted_error(prepared, output)});
  }
  prepared.names = parallel::tensor_names(graph);
  if (!request.training.resume.empty())
    SOAPSTONE_RETURN_IF_ERROR(load_checkpoint(request.training.resume, prepared));
  return prepared;
}

namespace {

/// The rank's pieces of tensors, by input of its program; null where a tensor has no value.
template <class Value>
std::vector<core::LiteralPtr> pieces_of(const PreparedRun& prepared, std::size_t rank,
                                        const Value& value_of) {
  std::vector<core::LiteralPtr> pieces;
  for (const parallel::HeldPiece& held : prepared.programs[rank].inputs) {
    const core::LiteralPtr whole = value_of(held.tensor);
    pieces.push_back(whole ? parallel::value_of_piece(whole, held.piece) : nullptr);
  }
  return pieces;
}

bool is_replaced(const PreparedRun& prepared, core::TensorId input) {
  return prepared.training &&
         std::ranges::any_of(prepared.training->replaced,
                             [&](const auto& entry) { return entry.second == input; });
}

core::LiteralPtr held_value(const PreparedRun& prepared, core::TensorId id) {
  const auto held = prepared.model.weights.find(id);
  return held == prepared.model.weights.end() ? nullptr : held->second;
}

core::LiteralPtr data_value(const PreparedRun& prepared, core::TensorId id, std::size_t batch) {
  const std::vector<core::TensorId>& data = prepared.model.data;
  const auto at = std::ranges::find(data, id);
  if (at == data.end()) return nullptr;
  return std::make_shared<const core::Literal>(
      prepared.batches[batch][static_cast<std::size_t>(at - data.begin())]);
}

template <class T>
core::LiteralPtr scalar(core::DataType type, T value) {
  return std::make_shared<const core::Literal>(
      core::Literal::copy(type, {}, std::as_bytes(std::span(&value, 1))));
}

}  // namespace

std::vector<core::LiteralPtr> fixed_pieces(const PreparedRun& prepared, std::size_t rank) {
  return pieces_of(prepared, rank, [&](core::TensorId id) {
    return is_replaced(prepared, id) ? nullptr : held_value(prepared, id);
  });
}

std::vector<core::LiteralPtr> replaced_pieces(const PreparedRun& prepared, std::size_t rank) {
  return pieces_of(prepared, rank, [&](core::TensorId id) {
    return is_replaced(prepared, id) ? held_value(prepared, id) : nullptr;
  });
}

std::vector<core::LiteralPtr> data_pieces(const PreparedRun& prepared, std::size_t rank,
                                          std::size_t batch) {
  return pieces_of(prepared, rank,
                   [&](core::TensorId id) { return data_value(prepared, id, batch); });
}

std::map<core::TensorId, core::LiteralPtr> numbers_of_step(const PreparedTraining& training,
                                                           std::int64_t step) {
  std::map<core::TensorId, core::LiteralPtr> numbers;
  numbers[training.rate] =
      scalar(core::DataType::kFloat32, static_cast<float>(training.learning_rate));
  if (training.step.valid()) numbers[training.step] = scalar(core::DataType::kInt64, step);
  return numbers;
}

std::size_t batch_of_run(const PreparedRun& prepared, int number) {
  const std::int64_t before = prepared.training ? prepared.training->steps_before : 0;
  return static_cast<std::size_t>(before + number) % prepared.batches.size();
}

std::vector<core::Literal> whole_inputs(const PreparedRun& prepared) {
  if (!prepared.training) return prepared.batches.front();
  const auto numbers = numbers_of_step(*prepared.training, prepared.training->steps_before + 1);
  std::vector<core::Literal> inputs;
  for (const core::TensorId id : prepared.model.whole.inputs()) {
    core::LiteralPtr value = held_value(prepared, id);
    if (!value) value = data_value(prepared, id, batch_of_run(prepared, 0));
    inputs.push_back(*(value ? value : numbers.at(id)));
  }
  return inputs;
}

}  // namespace soapstone::jobs
