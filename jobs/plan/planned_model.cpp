// See planned_model.h.
#include "jobs/plan/planned_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"
#include "jobs/base/usage_error.h"
#include "jobs/models/batched_file.h"
#include "models/networks/builders.h"
#include "parallel/topology/presets.h"
#include "parallel/topology/topology_json.h"
#include "parallel/training/loss.h"

namespace soapstone::jobs {
namespace {

MarkedModel marked(models::OnnxModel model) {
  core::Graph& graph = model.graph;
  std::vector<bool> is_weight(graph.tensor_bound(), false);
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    for (const core::TensorId input : graph.node(id).inputs) {
      if (!input.valid() || !graph.is_constant_expression(input)) continue;
      const core::TensorType& type = graph.tensor(input).type;
      const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
      is_weight[input.index()] = dims && core::element_count(*dims) > 1;
    }
  }
  return {std::move(graph), std::move(is_weight), std::move(model.header)};
}

core::Result<MarkedModel> built(const PlannedModelRequest& request) {
  if (!request.shapes.empty()) {
    return usage_error(fmt::format("`shape` is for files, and '{}' is none", request.model),
                       "give the sizes of a built-in network in `set` and `batch`");
  }
  std::map<std::string, std::int64_t> settings = request.set;
  if (request.batch) settings["batch"] = *request.batch;
  models::NetworkOptions options;
  options.weights = models::Weights::kInputs;
  SOAPSTONE_ASSIGN_OR_RETURN(models::BuiltNetwork network,
                             models::build_network(request.model, settings, options));
  std::vector<bool> is_weight(network.graph.tensor_bound(), false);
  for (const auto* const tensors : {&network.weights, &network.statistics})
    for (const core::TensorId id : *tensors) is_weight[id.index()] = true;
  return MarkedModel{std::move(network.graph), std::move(is_weight), models::new_header()};
}

core::Result<models::OnnxModel> read_file(const PlannedModelRequest& request,
                                          const Context& context) {
  if (!request.batch) return read_model(request.model, request.shapes, context, true);
  SOAPSTONE_ASSIGN_OR_RETURN(const BatchedFile file, with_batch(request.model, *request.batch));
  return read_batched(file, request.model, *request.batch, request.shapes, context, true);
}

}  // namespace

core::Result<MarkedModel> load_planned_model(const PlannedModelRequest& request,
                                             const Context& context) {
  if (!is_model_file(request.model)) return built(request);
  if (!request.set.empty()) {
    return usage_error("`set` is for built-in networks", "give the sizes of a file in `shape`");
  }
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model, read_file(request, context));
  SOAPSTONE_RETURN_IF_ERROR(check_known_sizes(model.graph, "a plan"));
  return marked(std::move(model));
}

MarkedModel with_loss(const MarkedModel& model, const Context& context) {
  core::GraphBuilder builder(model.graph);
  const auto loss = parallel::append_loss(builder, model.graph, parallel::Loss::kChosen);
  if (!loss) {
    context.progress.log(core::LogLevel::kWarning,
                         "planning without a loss: " + loss.error().message);
    return model;
  }
  std::vector<core::TensorId> outputs(model.graph.outputs().begin(), model.graph.outputs().end());
  if (std::ranges::count(outputs, loss->value) == 0) outputs.push_back(loss->value);
  builder.set_outputs(std::move(outputs));
  auto graph = std::move(builder).finish();
  CHECK(graph.ok(), "a loss closes no cycle");
  std::vector<bool> is_weight = model.is_weight;
  is_weight.resize(graph->tensor_bound(), false);
  return {*std::move(graph), std::move(is_weight), model.header};
}

core::Result<parallel::Topology> load_topology(const std::string& name) {
  if (name.ends_with(".json") || name.find('/') != std::string::npos)
    return parallel::read_topology(name);
  return parallel::preset_topology(name);
}

}  // namespace soapstone::jobs
