// See built_networks.h.
#include "tests/models/built_networks.h"

#include <cmath>
#include <stdexcept>

#include "ops/evaluation/evaluate.h"

namespace soapstone::models {

namespace {

std::vector<double> sample(const core::TensorType& type) {
  std::vector<double> values(
      static_cast<std::size_t>(core::element_count(*core::concrete(type.shape))));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_real = core::is_floating(type.data_type);
    values[i] = is_real ? std::sin(static_cast<double>(i)) : static_cast<double>(i % 2);
  }
  return values;
}

}  // namespace

BuiltNetwork built(const std::string& name, const ParameterValues& parameters,
                   const NetworkOptions& options) {
  auto network = build_network(name, parameters, options);
  if (!network) throw std::runtime_error(network.error().to_string());
  return *std::move(network);
}

std::vector<std::vector<double>> evaluate(const core::Graph& graph, const InputValues& given) {
  std::vector<std::vector<double>> inputs;
  for (const core::TensorId id : graph.inputs()) {
    const auto at = given.find(id);
    inputs.push_back(at == given.end() ? sample(graph.tensor(id).type) : at->second);
  }
  auto outputs = ops::evaluate_graph<double>(graph, inputs);
  if (!outputs) throw std::runtime_error(outputs.error().to_string());
  return *std::move(outputs);
}

}  // namespace soapstone::models
