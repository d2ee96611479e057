// See stepwise_side.h.
#include "rules/floats/stepwise_side.h"

#include "ops/definition/registry.h"

namespace soapstone::rules {

StepwiseSide::StepwiseSide(const Graph& graph) : graph_(graph) {
  for (NodeId id : graph.order()) {
    std::vector<core::Dims> dims;
    for (TensorId input : graph.node(id).inputs)
      dims.push_back(input.valid() ? *core::concrete(graph.tensor(input).type.shape)
                                   : core::Dims());
    programs_.emplace_back(ops::semantics_of(graph, id), dims);
  }
}

std::optional<std::vector<Tensor>> StepwiseSide::run(const std::vector<Tensor>& inputs,
                                                     const Change& change) const {
  std::vector<Tensor> values(graph_.tensor_bound());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TensorId id(i);
    if (!graph_.contains(id) || !graph_.tensor(id).value) continue;
    values[i] = graph_.tensor(id).value->to_doubles();
    change(id, Origin::kConstant, values[i]);
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const TensorId id = graph_.inputs()[k];
    values[id.index()] = inputs[k];
    change(id, Origin::kInput, values[id.index()]);
  }
  for (std::size_t n = 0; n < programs_.size(); ++n) {
    if (!run_node(n, values)) return std::nullopt;
    for (TensorId id : graph_.node(graph_.order()[n]).outputs)
      change(id, Origin::kResult, values[id.index()]);
  }
  std::vector<Tensor> outputs;
  for (TensorId id : graph_.outputs()) outputs.push_back(values[id.index()]);
  return outputs;
}

bool StepwiseSide::run_node(std::size_t n, std::vector<Tensor>& values) const {
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

}  // namespace soapstone::rules
