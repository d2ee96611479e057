// See rounded_side.h.
#include "rules/floats/rounded_side.h"

#include <algorithm>
#include <cmath>

#include "ops/definition/registry.h"

namespace soapstone::rules {

RoundedSide::RoundedSide(const Graph& graph) : graph_(graph) {
  for (NodeId id : graph.order()) {
    std::vector<core::Dims> dims;
    for (TensorId input : graph.node(id).inputs)
      dims.push_back(input.valid() ? *core::concrete(graph.tensor(input).type.shape)
                                   : core::Dims());
    programs_.emplace_back(ops::semantics_of(graph, id), dims);
  }
}

std::optional<std::vector<Tensor>> RoundedSide::run(const std::vector<Tensor>& inputs,
                                                    std::optional<Rounding> rounding,
                                                    double& largest_met) const {
  std::vector<Tensor> values(graph_.tensor_bound());
  const auto finish = [&](TensorId id) {
    Tensor& tensor = values[id.index()];
    if (rounding) round(id, *rounding, tensor);
    for (const double value : tensor)
      if (std::isfinite(value)) largest_met = std::max(largest_met, std::fabs(value));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TensorId id(i);
    if (!graph_.contains(id) || !graph_.tensor(id).value) continue;
    values[i] = graph_.tensor(id).value->to_doubles();
    finish(id);
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    values[graph_.inputs()[k].index()] = inputs[k];
    finish(graph_.inputs()[k]);
  }
  for (std::size_t n = 0; n < programs_.size(); ++n) {
    if (!run_node(n, values)) return std::nullopt;
    for (TensorId id : graph_.node(graph_.order()[n]).outputs) finish(id);
  }
  std::vector<Tensor> outputs;
  for (TensorId id : graph_.outputs()) outputs.emplace_back(values[id.index()]);
  return outputs;
}

bool RoundedSide::run_node(std::size_t n, std::vector<Tensor>& values) const {
  const core::Node& node = graph_.node(graph_.order()[n]);
  std::vector<std::span<const double>> inputs;
  for (TensorId id : node.inputs)
    inputs.push_back(id.valid() ? std::span<const double>(values[id.index()])
                                : std::span<const double>());
  std::vector<std::span<double>> outputs;
  for (TensorId id : node.outputs) {
    const auto dims = *core::concrete(graph_.tensor(id).type.shape);
    values[id.index()].resize(static_cast<std::size_t>(core::element_count(dims)));
    outputs.emplace_back(values[id.index()]);
  }
  return programs_[n].run(inputs, outputs).ok();
}

void RoundedSide::round(TensorId id, const Rounding& rounding, Tensor& tensor) const {
  core::DataType type = graph_.tensor(id).type.data_type;
  if (!core::is_floating(type)) return;
  if (type == core::DataType::kFloat32) type = rounding.type;
  const core::FloatFormat format = core::format_of(type);
  for (double& value : tensor)
    value =
        rounding.limited ? core::rounded_to(format, value) : core::rounded_to_digits(format, value);
}

}  // namespace soapstone::rules
