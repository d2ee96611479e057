// Four graphs, three unknowns: of two small ones the slower says what a launch takes at least,
// since an estimate that is too low would win against every measurement.
#include "cost/models/calibration.h"

#include <algorithm>

#include "core/base/check.h"
#include "ops/definition/registry.h"

namespace soapstone::cost {
namespace {

constexpr RooflineParameters kOneCore{.launch_us = 1, .flops_per_s = 50e9, .bytes_per_s = 10e9};
constexpr std::string_view kProduct = "matmul";
constexpr std::int64_t kMatrix = 512;
constexpr std::int64_t kLarge = std::int64_t{4} << 20;
constexpr std::int64_t kTiny = 16;

core::Graph graph_of(std::string_view op, const core::Dims& dims) {
  core::GraphBuilder builder("calibration");
  const core::TensorType type{core::DataType::kFloat32, core::to_shape(dims), true};
  const core::TensorId a = builder.add_input("a", type);
  const core::TensorId b = builder.add_input("b", type);
  auto result = ops::append(builder, op, {a, b});
  CHECK(result, "calibration graph");
  builder.set_outputs(*result);
  auto graph = std::move(builder).finish();
  CHECK(graph, "calibration graph");
  return *std::move(graph);
}

}  // namespace

RooflineParameters one_core() { return kOneCore; }

LargeProduct large_product() {
  return {graph_of(kProduct, {kMatrix, kMatrix}), 2.0 * kMatrix * kMatrix * kMatrix};
}

bool is_doubtful(double us, double roofline_us) {
  constexpr double kFarAbove = 50, kLeastUs = 500;
  return us > kLeastUs && us > kFarAbove * roofline_us;
}

RooflineParameters calibrate(const TimeOfGraph& time_us) {
  RooflineParameters parameters = kOneCore;
  const auto small_sum = time_us(graph_of("add", {kTiny}));
  const auto small_product = time_us(graph_of(kProduct, {kTiny, kTiny}));
  if (small_sum || small_product)
    parameters.launch_us = std::max(small_sum.value_or(0), small_product.value_or(0));
  const auto beyond_launch = [&](double us) { return std::max(us - parameters.launch_us, 0.01); };
  const LargeProduct product = large_product();
  if (const auto product_us = time_us(product.graph))
    parameters.flops_per_s = product.flops / beyond_launch(*product_us) * 1e6;
  if (const auto large = time_us(graph_of("add", {kLarge}))) {
    constexpr double kBytes = 3.0 * sizeof(float) * kLarge;
    parameters.bytes_per_s = kBytes / beyond_launch(*large) * 1e6;
  }
  return parameters;
}

}  // namespace soapstone::cost
