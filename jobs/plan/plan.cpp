// See plan.h.
#include "jobs/plan/plan.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "jobs/base/guard.h"
#include "models/networks/builders.h"
#include "parallel/planning/named.h"
#include "parallel/topology/presets.h"
#include "parallel/topology/topology_json.h"

namespace soapstone::jobs {
namespace {

/// A model with its weights marked, by tensor.
struct MarkedModel {
  core::Graph graph;
  std::vector<bool> is_weight;
};

bool is_file(const std::string& name) {
  return name.ends_with(".onnx") || name.find('/') != std::string::npos ||
         std::filesystem::exists(name);
}

/// Constants of more than one number are what training changes.
MarkedModel marked(core::Graph graph) {
  std::vector<bool> is_weight(graph.tensor_bound(), false);
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t) {
    const core::TensorId id(t);
    if (!graph.contains(id) || !graph.tensor(id).value) continue;
    const core::Literal& value = *graph.tensor(id).value;
    is_weight[t] = core::is_floating(value.data_type()) && value.count() > 1;
  }
  return {std::move(graph), std::move(is_weight)};
}

core::Result<MarkedModel> built(const PlanRequest& request) {
  std::map<std::string, std::int64_t> settings = request.settings;
  if (request.batch) settings["batch"] = *request.batch;
  models::NetworkOptions options;
  options.weights = models::Weights::kInputs;
  SOAPSTONE_ASSIGN_OR_RETURN(models::BuiltNetwork network,
                             models::build_network(request.model, settings, options));
  std::vector<bool> is_weight(network.graph.tensor_bound(), false);
  for (const auto* const tensors : {&network.weights, &network.statistics})
    for (const core::TensorId id : *tensors) is_weight[id.index()] = true;
  return MarkedModel{std::move(network.graph), std::move(is_weight)};
}

core::Status check_sizes(const core::Graph& graph) {
  for (const core::TensorId id : graph.inputs()) {
    if (core::concrete(graph.tensor(id).type.shape)) continue;
    return core::invalid_input(
        "the size of input " + tensor_text(graph, id) + " is open, a plan needs numbers",
        "give a number in `shapes`");
  }
  return core::Done{};
}

core::Result<MarkedModel> load(const PlanRequest& request, const Context& context) {
  if (!is_file(request.model)) return built(request);
  if (!request.settings.empty() || request.batch) {
    return core::Error{core::ErrorCode::kUsage,
                       "`settings` and `batch` are for built-in networks", request.model,
                       "give the sizes of a file in `shapes`"};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model,
                             read_model(request.model, request.shapes, context));
  SOAPSTONE_RETURN_IF_ERROR(check_sizes(model.graph));
  return marked(std::move(model.graph));
}

core::Result<parallel::Topology> load_topology(const std::string& name) {
  if (name.ends_with(".json") || name.find('/') != std::string::npos)
    return parallel::read_topology(name);
  return parallel::preset_topology(name);
}

class PlanJob {
 public:
  PlanJob(const PlanRequest& request, const Context& context, MarkedModel model,
          parallel::Topology topology)
      : request_(request), context_(context), model_(std::move(model)),
        topology_(std::move(topology)) {}

  core::Result<PlanOutcome> run() {
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::NamedStrategy* strategy,
                               parallel::named_strategy(request_.strategy));
    context_.progress.stage(fmt::format("planning on {}", topology_.name()));
    SOAPSTONE_ASSIGN_OR_RETURN(parallel::MeshPlanOutcome best, plan_with(*strategy));
    PlanOutcome outcome;
    outcome.memory_bytes = memory_bytes();
    SOAPSTONE_RETURN_IF_ERROR(compare(best, outcome));
    outcome.plan = parallel::document_of(model_.graph, model_.is_weight, topology_, best);
    outcome.plan.strategy = strategy->name;
    outcome.plan.is_training = request_.is_training;
    outcome.fits = best.fits;
    outcome.meshes_tried = best.meshes_tried;
    outcome.details = std::move(best.plan);
    outcome.graph = std::move(model_.graph);
    return outcome;
  }

 private:
  core::Result<parallel::MeshPlanOutcome> plan_with(const parallel::NamedStrategy& strategy) {
    parallel::MeshPlanOptions options;
    options.is_training = request_.is_training;
    options.optimizer = request_.optimizer;
    options.precision = request_.precision;
    options.devices = request_.devices;
    options.memory_bytes = request_.memory_limit_bytes;
    options.freedom = strategy.freedom;
    options.jobs = request_.threads;
    return parallel::plan_on_meshes(model_.graph, model_.is_weight, topology_, options,
                                    context_.progress, context_.stop);
  }

  /// Data parallelism is planned in any case: everybody knows what it is. A named strategy that turns
  /// out faster than what the search found is taken.
  core::Status compare(parallel::MeshPlanOutcome& best, PlanOutcome& outcome) {
    for (const parallel::NamedStrategy& strategy : parallel::named_strategies()) {
      const bool is_data = strategy.name == "data";
      if (strategy.name == "best" || (!request_.compares && !is_data)) continue;
      if (strategy.needs_training && !request_.is_training) continue;
      if (context_.stop.stop_requested()) break;
      context_.progress.stage("planning " + strategy.name);
      SOAPSTONE_ASSIGN_OR_RETURN(parallel::MeshPlanOutcome rival, plan_with(strategy));
      if (is_data && rival.fits) outcome.data_parallel_us = rival.plan.time.total_us;
      if (request_.compares)
        outcome.rivals.push_back({strategy.name, strategy.description, rival.plan.time,
                                  rival.plan.shape, rival.fits});
      const bool is_faster = rival.fits && (!best.fits || rival.plan.time.total_us <
                                                              best.plan.time.total_us);
      if (request_.strategy == "best" && is_faster) best = std::move(rival);
    }
    return core::Done{};
  }

  double memory_bytes() const {
    double least = 0;
    for (const parallel::DeviceKind& kind : topology_.kinds())
      least = least == 0 ? kind.memory_bytes : std::min(least, kind.memory_bytes);
    return request_.memory_limit_bytes.value_or(least);
  }

  const PlanRequest& request_;
  const Context& context_;
  MarkedModel model_;
  parallel::Topology topology_;
};

}  // namespace

core::Result<PlanOutcome> plan(const PlanRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<PlanOutcome> {
    SOAPSTONE_ASSIGN_OR_RETURN(parallel::Topology topology, load_topology(request.topology));
    SOAPSTONE_ASSIGN_OR_RETURN(MarkedModel model, load(request, inner));
    return PlanJob(request, inner, std::move(model), std::move(topology)).run();
  });
}

}  // namespace soapstone::jobs
