// See run_model.h.
#include "jobs/run/run_model.h"

#include "core/base/check.h"
#include "models/networks/builders.h"
#include "runtime/execution/executor.h"

namespace soapstone::jobs {
namespace {

/// The same network with its weights as constants, which are in the same order.
core::Status take_weights(const PlannedModelRequest& request, RunModel& model) {
  std::map<std::string, std::int64_t> settings = request.set;
  if (request.batch) settings["batch"] = *request.batch;
  models::NetworkOptions options;
  options.weights = models::Weights::kInputs;
  SOAPSTONE_ASSIGN_OR_RETURN(const models::BuiltNetwork planned,
                             models::build_network(request.model, settings, options));
  options.weights = models::Weights::kRandom;
  SOAPSTONE_ASSIGN_OR_RETURN(models::BuiltNetwork whole,
                             models::build_network(request.model, settings, options));
  const auto take = [&](const std::vector<core::TensorId>& from,
                        const std::vector<core::TensorId>& to) {
    CHECK(from.size() == to.size(), "one network, built twice");
    for (std::size_t k = 0; k < from.size(); ++k)
      model.weights[to[k]] = whole.graph.tensor(from[k]).value;
  };
  take(whole.weights, planned.weights);
  take(whole.statistics, planned.statistics);
  model.whole = std::move(whole.graph);
  return core::Done{};
}

core::Status fold_weights(runtime::Backend& backend, RunModel& model) {
  const core::Graph& graph = model.planned.graph;
  SOAPSTONE_ASSIGN_OR_RETURN(const runtime::FoldedConstants folded,
                             runtime::fold_constants(graph, backend));
  const runtime::ConstantValue value = runtime::constant_value(graph, folded);
  for (std::size_t t = 0; t < model.planned.is_weight.size(); ++t)
    if (model.planned.is_weight[t]) {
      const core::TensorId id(t);
      model.weights[id] = value(id);
      CHECK(model.weights[id], "a weight is constant");
    }
  model.whole = graph;
  return core::Done{};
}

}  // namespace

std::vector<core::TensorId> data_of(const MarkedModel& model) {
  std::vector<core::TensorId> data;
  for (const core::TensorId id : model.graph.inputs())
    if (!model.is_weight[id.index()]) data.push_back(id);
  return data;
}

core::Result<RunModel> load_run_model(const PlannedModelRequest& request, runtime::Backend& backend,
                                      const Context& context) {
  RunModel model;
  SOAPSTONE_ASSIGN_OR_RETURN(model.planned, load_planned_model(request, context));
  SOAPSTONE_RETURN_IF_ERROR(check_can_run(request.model, model.planned.graph));
  SOAPSTONE_RETURN_IF_ERROR(is_model_file(request.model) ? fold_weights(backend, model)
                                                         : take_weights(request, model));
  model.data = data_of(model.planned);
  return model;
}

core::Result<std::vector<core::Literal>>
inputs_of_run(const RunModel& model, const std::string& path, std::uint64_t seed) {
  if (path.empty()) return runtime::random_inputs(model.whole, seed);
  return read_inputs(path, model_of(model.whole));
}

}  // namespace soapstone::jobs
