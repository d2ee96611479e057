#include "tests/parallel/planned_network.h"

#include <gtest/gtest.h>

#include "parallel/topology/presets.h"

namespace soapstone::parallel {

PlannedNetwork network(const std::string& name, const models::ParameterValues& sizes,
                       core::DataType type) {
  models::NetworkOptions options;
  options.type = type;
  options.weights = models::Weights::kInputs;
  auto built = models::build_network(name, sizes, options);
  EXPECT_TRUE(built.ok()) << built.error().to_string();
  PlannedNetwork result{std::move(built->graph), {}, 0};
  result.is_weight.resize(result.graph.tensor_bound());
  for (const core::TensorId id : built->weights) {
    result.is_weight[id.index()] = true;
    const auto dims = core::concrete(result.graph.tensor(id).type.shape);
    result.weight_bytes += 4.0 * static_cast<double>(core::element_count(*dims));
  }
  for (const core::TensorId id : built->statistics) result.is_weight[id.index()] = true;
  return result;
}

Topology topology(const std::string& name) {
  auto result = preset_topology(name);
  EXPECT_TRUE(result.ok());
  return *std::move(result);
}

}  // namespace soapstone::parallel
