// See step_model.h.
#include "jobs/run/step_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "jobs/models/model_files.h"
#include "models/files/npz.h"
#include "ops/onnx/onnx_reading.h"
#include "runtime/execution/executor.h"

namespace soapstone::jobs {
namespace {

using core::TensorId;

core::LiteralPtr zeros_of(const core::TensorType& type) {
  return std::make_shared<const core::Literal>(
      ops::filled_literal(type.data_type, *core::concrete(type.shape), 0));
}

/// The number of batches that an array is; none if it has another shape.
std::optional<std::int64_t> batch_count(const core::Literal& array, const core::TensorType& type) {
  const core::Dims dims = *core::concrete(type.shape);
  if (array.dims() == dims) return 1;
  if (array.dims().size() != dims.size() + 1 || array.dims()[0] < 1) return std::nullopt;
  if (!std::equal(dims.begin(), dims.end(), array.dims().begin() + 1)) return std::nullopt;
  return array.dims()[0];
}

core::Literal batch_of(const core::LiteralPtr& array, const core::Dims& dims, std::int64_t batch) {
  const std::size_t bytes =
      static_cast<std::size_t>(core::element_count(dims)) * core::size_bytes(array->data_type());
  return core::Literal::view(array->data_type(), dims,
                             array->bytes().subspan(static_cast<std::size_t>(batch) * bytes, bytes),
                             array);
}

core::Result<std::vector<std::vector<core::Literal>>>
read_batches(const core::Graph& graph, const std::vector<TensorId>& data, const std::string& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto arrays, models::read_npz(path));
  std::vector<core::LiteralPtr> found;
  std::optional<std::int64_t> batches;
  for (const TensorId id : data) {
    const core::Tensor& tensor = graph.tensor(id);
    const auto at = std::ranges::find(
        arrays, tensor.name, [](const auto& entry) -> const auto& { return entry.first; });
    if (at == arrays.end())
      return core::invalid_input(fmt::format("there is no array '{}'", tensor.name),
                                 "it has to be " + tensor_text(graph, id))
          .at(path);
    auto typed = models::with_type(at->second, tensor.type.data_type);
    const auto count = typed ? batch_count(*typed, tensor.type) : std::nullopt;
    if (!count || (batches && *batches != *count))
      return core::invalid_input(
                 fmt::format("'{}' has another type or shape, or another number of batches than "
                             "the arrays before it",
                             tensor.name),
                 fmt::format("it has to be {}, or several of these", tensor_text(graph, id)))
          .at(path);
    batches = count;
    found.push_back(std::make_shared<const core::Literal>(*std::move(typed)));
  }
  std::vector<std::vector<core::Literal>> all(static_cast<std::size_t>(batches.value_or(1)));
  for (std::size_t b = 0; b < all.size(); ++b)
    for (std::size_t k = 0; k < data.size(); ++k)
      all[b].push_back(batch_of(found[k], *core::concrete(graph.tensor(data[k]).type.shape),
                                static_cast<std::int64_t>(b)));
  return all;
}

}  // namespace

PreparedTraining become_step(const CutTraining& training, RunModel& model) {
  const parallel::TrainingStep& step = training.step;
  std::map<TensorId, core::LiteralPtr> held;
  const auto first_value = [&](TensorId source) {
    const auto known = model.weights.find(source);
    core::LiteralPtr value =
        known != model.weights.end() ? known->second : model.planned.graph.tensor(source).value;
    CHECK(value, "a weight has a value");
    return value;
  };
  for (std::size_t k = 0; k < training.cut.is_weight.size(); ++k)
    if (const auto known = model.weights.find(TensorId(k));
        training.cut.is_weight[k] && known != model.weights.end())
      held.insert(*known);
  for (const parallel::TrainedWeight& weight : step.weights) {
    held[weight.value] = first_value(weight.source);
    for (const TensorId state : weight.states)
      held[state] = zeros_of(step.graph.tensor(state).type);
  }
  for (const parallel::CarriedTensor& carried : step.carried)
    held[carried.value] = first_value(carried.source);
  model.weights = std::move(held);
  model.planned.graph = step.graph;
  model.planned.is_weight = training.cut.is_weight;
  model.whole = step.graph;
  model.data.clear();
  for (const TensorId id : step.graph.inputs())
    if (!training.cut.is_weight[id.index()] && id != step.rate && id != step.step)
      model.data.push_back(id);
  PreparedTraining prepared{step.loss, step.rate, step.step, training.cut.cuts.replaced, {}, 0, 0};
  for (const parallel::TrainedWeight& weight : step.weights)
    prepared.weights.insert(weight.updated);
  return prepared;
}

core::Result<std::vector<std::vector<core::Literal>>> batches_of(const core::Graph& graph,
                                                                 const std::vector<TensorId>& data,
                                                                 const std::string& path,
                                                                 std::uint64_t seed) {
  if (!path.empty()) return read_batches(graph, data, path);
  const std::vector<core::Literal> all = runtime::random_inputs(graph, seed);
  std::vector<core::Literal> batch;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (std::ranges::find(data, graph.inputs()[k]) != data.end()) batch.push_back(all[k]);
  return std::vector<std::vector<core::Literal>>{std::move(batch)};
}

}  // namespace soapstone::jobs
