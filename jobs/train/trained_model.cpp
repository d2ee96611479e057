// See trained_model.h.
#include "jobs/train/trained_model.h"

#include <fmt/format.h>

#include "jobs/base/usage_error.h"
#include "jobs/models/batched_file.h"
#include "models/networks/builders.h"
#include "models/onnx/training_notes.h"

namespace soapstone::jobs {
namespace {

core::Result<TrainedModel> built(const TrainedModelRequest& request) {
  if (!request.shapes.empty()) {
    return usage_error(fmt::format("`shape` is for files, and '{}' is none", request.model),
                       "give the sizes of a built-in network in `set` and `batch`");
  }
  std::map<std::string, std::int64_t> settings = request.set;
  if (request.batch) settings["batch"] = *request.batch;
  SOAPSTONE_ASSIGN_OR_RETURN(
      models::BuiltNetwork network,
      models::build_network(request.model, settings, {.seed = request.seed}));
  return TrainedModel{
      std::move(network.graph), models::new_header(), std::move(network.weights), {}, {}, {}};
}

core::Result<models::OnnxModel> read_file(const TrainedModelRequest& request,
                                          const Context& context) {
  if (!request.batch) return read_model(request.model, request.shapes, context, true);
  SOAPSTONE_ASSIGN_OR_RETURN(const BatchedFile file, with_batch(request.model, *request.batch));
  return read_batched(file, request.model, *request.batch, request.shapes, context, true);
}

bool can_be_weight(const core::Tensor& tensor) {
  return tensor.value && core::is_floating(tensor.type.data_type) && !tensor.type.shape.empty();
}

}  // namespace

core::Status refuse_dropouts(const std::vector<std::string>& dropouts, const std::string& path) {
  if (dropouts.empty()) return core::Done{};
  const std::string more =
      dropouts.size() == 1 ? "" : fmt::format(" and {} more", dropouts.size() - 1);
  return core::unsupported(
             fmt::format("{}{}: a step of training draws no random numbers, so it drops nothing",
                         dropouts.front(), more),
             "`drop_dropout` trains without dropout")
      .at(path);
}

core::Result<TrainedModel> load_trained_model(const TrainedModelRequest& request,
                                              const Context& context) {
  if (!is_model_file(request.model)) return built(request);
  if (!request.set.empty())
    return usage_error("`set` is for built-in networks", "give the sizes of a file in `shape`");
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model, read_file(request, context));
  SOAPSTONE_RETURN_IF_ERROR(check_known_sizes(model.graph, "a step of training"));
  SOAPSTONE_ASSIGN_OR_RETURN(models::TrainingNotes notes,
                             models::read_training_notes(request.model));
  TrainedModel trained{
      std::move(model.graph),       model.header, {}, {}, std::move(notes.dropouts),
      std::move(model.opaque_nodes)};
  for (std::size_t k = 0; k < trained.graph.tensor_bound(); ++k) {
    const core::TensorId id(k);
    if (!trained.graph.contains(id)) continue;
    const core::Tensor& tensor = trained.graph.tensor(id);
    if (can_be_weight(tensor) && notes.initializers.contains(tensor.name))
      trained.weights.push_back(id);
    if (const auto momentum = notes.momenta.find(tensor.name); momentum != notes.momenta.end())
      trained.momenta.emplace(id, momentum->second);
  }
  return trained;
}

}  // namespace soapstone::jobs
