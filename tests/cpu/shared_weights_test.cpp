// A weight that several launches read may stay where it is; the results are the same.
#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"

namespace soapstone::cpu {
namespace {

/// The same product and convolution twice, and a bias that both sums read.
core::Graph twice() {
  core::GraphBuilder builder("twice");
  const auto weights = [&](core::Dims dims) {
    std::vector<float> values(static_cast<std::size_t>(core::element_count(dims)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.01F * static_cast<float>(i * 37 % 101) - 0.5F;
    return builder.add_constant(
        std::make_shared<const core::Literal>(core::Literal::floats(std::move(dims), values)));
  };
  const auto add = [&](const char* op, std::vector<core::TensorId> inputs) {
    return (*ops::append(builder, op, std::move(inputs)))[0];
  };
  const core::TensorId w = weights({192, 192}), b = weights({1, 192});
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {4, 192}, true});
  for (int k = 0; k < 2; ++k) x = add("tanh", {add("add", {add("matmul", {x, w}), b})});
  const core::TensorId filters = weights({48, 48, 3, 3});
  core::TensorId y = builder.add_input("y", {core::DataType::kFloat32, {1, 48, 12, 12}, true});
  for (int k = 0; k < 2; ++k) y = add("tanh", {add("conv", {y, filters})});
  builder.set_outputs({x, y});
  return *std::move(builder).finish();
}

TEST(SharedWeights, AreReadInPlaceWithTheSameResults) {
  const core::Graph graph = twice();
  const auto made = make_cpu_backend();
  ASSERT_TRUE(made.ok());
  runtime::Backend& backend = **made;
  const auto inputs = runtime::random_inputs(graph, /*seed=*/1);
  std::vector<std::vector<core::Literal>> results;
  for (const bool hold : {true, false}) {
    auto executable = runtime::Executable::make(graph, backend, {.hold_shared_weights = hold});
    ASSERT_TRUE(executable.ok()) << executable.error().to_string();
    EXPECT_TRUE(executable->report().reference_kernels.empty());
    for (int run = 0; run < 2; ++run) {
      auto result = executable->run(inputs);
      ASSERT_TRUE(result.ok());
      results.push_back(*std::move(result));
    }
  }
  for (const auto& result : results) {
    for (std::size_t k = 0; k < result.size(); ++k) {
      const auto expected = results[0][k].to_doubles(), actual = result[k].to_doubles();
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-4) << "output " << k << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace soapstone::cpu
