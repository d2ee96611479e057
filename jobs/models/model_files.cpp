// See model_files.h.
#include "jobs/models/model_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "models/files/npz.h"
#include "runtime/memory/memory_check.h"

namespace soapstone::jobs {

namespace {

core::Result<models::OnnxModel>
read_with(const std::string& path, const models::ImportOptions& options, const Context& context) {
  context.progress.stage("reading " + path);
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model, models::read_onnx(path, options));
  for (const std::string& warning : model.warnings) {
    context.progress.log(core::LogLevel::kWarning, fmt::format("{}: {}", path, warning));
  }
  return model;
}

}  // namespace

bool is_model_file(const std::string& name) {
  return name.ends_with(".onnx") || name.find('/') != std::string::npos ||
         std::filesystem::exists(name);
}

core::Result<models::OnnxModel> read_model(const std::string& path, const Shapes& shapes,
                                           const Context& context, bool fold_default_inputs) {
  return read_with(path, {.shapes = shapes, .fold_default_inputs = fold_default_inputs}, context);
}

core::Result<models::OnnxModel> read_result(const std::string& path, const Shapes& shapes,
                                            const Context& context, bool fold_default_inputs) {
  return read_with(
      path, {.shapes = shapes, .skip_unknown = true, .fold_default_inputs = fold_default_inputs},
      context);
}

models::OnnxModel model_of(core::Graph graph, int opset) {
  models::OnnxModel model;
  model.graph = std::move(graph);
  model.header = models::new_header(opset);
  model.opset = opset;
  return model;
}

core::Status check_known_sizes(const core::Graph& graph, std::string_view who) {
  for (const core::TensorId id : graph.inputs()) {
    if (core::concrete(graph.tensor(id).type.shape)) continue;
    return core::invalid_input(
        fmt::format("the size of input {} is open, {} needs numbers", tensor_text(graph, id), who),
        "give a number in `shape`");
  }
  return core::Done{};
}

core::Status check_can_run(const std::string& path, const core::Graph& graph) {
  auto status = runtime::check_memory(graph);
  if (status) status = runtime::check_work(graph);
  if (!status) return status.error().at(path);
  return core::Done{};
}

core::Result<std::vector<core::Literal>> read_inputs(const std::string& path,
                                                     const models::OnnxModel& model) {
  const core::Graph& graph = model.graph;
  SOAPSTONE_ASSIGN_OR_RETURN(const auto arrays, models::read_npz(path));
  std::vector<core::Literal> inputs;
  for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
    const core::TensorId id = graph.inputs()[k];
    const core::Tensor& tensor = graph.tensor(id);
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& array) { return array.first == tensor.name; });
    if (found == arrays.end() && k < model.defaults.size() && model.defaults[k]) {
      inputs.push_back(*model.defaults[k]);
      continue;
    }
    if (found == arrays.end()) {
      return core::invalid_input(fmt::format("there is no array for the input '{}'", tensor.name),
                                 "numpy.savez(file, **{name: array, ...}) with all inputs")
          .at(path);
    }
    const core::Literal& value = found->second;
    auto typed = models::with_type(value, tensor.type.data_type);
    if (!typed || core::to_shape(value.dims()) != tensor.type.shape) {
      return core::invalid_input(fmt::format("the array '{}' is {}{}, but the model reads {}",
                                             tensor.name, core::to_string(value.data_type()),
                                             core::to_string(value.dims()), tensor_text(graph, id)))
          .at(path);
    }
    inputs.push_back(*std::move(typed));
  }
  return inputs;
}

std::string tensor_text(const core::Graph& graph, core::TensorId id) {
  const core::Tensor& tensor = graph.tensor(id);
  const std::string shape = tensor.type.shape_known
                                ? core::to_string(tensor.type.shape, graph.symbols())
                                : "[sizes not known]";
  return fmt::format("{}: {}{}", tensor.name, core::to_string(tensor.type.data_type), shape);
}

}  // namespace soapstone::jobs
