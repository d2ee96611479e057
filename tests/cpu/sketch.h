// Graphs of a few operators with constants, and by which kernel their first launch runs.
#pragma once

#include "ops/definition/registry.h"
#include "runtime/launches/execution_plan.h"
#include "tests/cpu/cpu_test.h"

namespace soapstone::cpu::test {

inline core::LiteralPtr numbers(core::Dims dims) {
  std::vector<float> values(static_cast<std::size_t>(core::element_count(dims)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.01F * static_cast<float>(i * 37 % 101) - 0.5F;
  return std::make_shared<const core::Literal>(core::Literal::floats(std::move(dims), values));
}

/// A graph that is put together in a few lines; sizes are f32.
class Sketch {
 public:
  core::TensorId input(const char* name, core::Dims dims) {
    return builder_.add_input(name, {core::DataType::kFloat32, core::to_shape(dims), true});
  }
  core::TensorId constant(core::Dims dims) { return constant(numbers(std::move(dims))); }
  core::TensorId constant(core::LiteralPtr value) {
    return builder_.add_constant(std::move(value));
  }
  const core::TensorType& type(core::TensorId tensor) const { return builder_.tensor(tensor).type; }
  core::TensorId add(const char* op, std::vector<core::TensorId> inputs,
                     core::Attributes attributes = {}) {
    auto made = ops::append(builder_, op, std::move(inputs), std::move(attributes));
    EXPECT_TRUE(made.ok()) << (made ? "" : made.error().to_string());
    return (*made)[0];
  }
  core::Graph finish(core::TensorId output) {
    builder_.set_outputs({output});
    return *std::move(builder_).finish();
  }

 private:
  core::GraphBuilder builder_{"sketch"};
};

/// How the first launch of a graph is run.
inline std::string implementation(const core::Graph& graph, runtime::Backend& made) {
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, made, runtime::Fusion::kFull);
  const runtime::ConstantValue value = [&](core::TensorId id) { return graph.tensor(id).value; };
  const auto kernel = made.compile(graph, plan.launches[0], plan.layouts[0], value, nullptr);
  return kernel ? (*kernel)->implementation() : kernel.error().to_string();
}

}  // namespace soapstone::cpu::test
