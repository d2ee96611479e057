// See built_networks.h.
#include "tests/models/built_networks.h"

#include <gtest/gtest.h>

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

core::TensorId named(const core::Graph& graph, const std::string& name) {
  for (const core::TensorId id : graph.inputs())
    if (graph.tensor(id).name == name) return id;
  throw std::runtime_error("no input " + name);
}

core::Dims dims_of(const core::Graph& graph, const std::string& name) {
  return *core::concrete(graph.tensor(named(graph, name)).type.shape);
}

InputValues weights_for(const BuiltNetwork& network) {
  InputValues values;
  for (const core::TensorId id : network.weights) {
    const core::Tensor& weight = network.graph.tensor(id);
    Numbers numbers(
        static_cast<std::size_t>(core::element_count(*core::concrete(weight.type.shape))));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::sin(static_cast<double>(i * i + weight.name.size())) * 0.5;
    values[id] = std::move(numbers);
  }
  return values;
}

void expect_near(const Numbers& a, const Numbers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9);
}

}  // namespace soapstone::models
