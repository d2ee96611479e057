// Kernels of a step read and write values that a gradient needs and no others, and as many
// elements as the largest part has. Weights have no more pieces than elements.
#include <gtest/gtest.h>

#include "parallel/sharding/choices.h"
#include "parallel/sharding/weight_layouts.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel {
namespace {

constexpr double kFloat = 4;

/// Times of the node that makes `result` on devices in a row, where a byte takes a microsecond and
/// nothing else takes any time, by the loop that is cut.
std::vector<PartTime> times_of(const std::string& text, const std::string& result,
                               std::int64_t devices) {
  const core::Graph graph = graph_of(text);
  std::vector<bool> is_weight(graph.tensor_bound());
  for (const core::TensorId id : graph.inputs())
    is_weight[id.index()] = graph.tensor(id).name.starts_with('w');
  const GraphLoops loops = graph_loops(graph, is_weight);
  StepOptions step;
  step.is_training = true;
  const StepWork work = step_work(graph, is_weight, step);
  ComputeRates rates;
  rates.bytes_per_s = 1e6;
  rates.launch_us = 0;
  rates.bandwidth_efficiency = 1;
  const Mesh mesh({devices}, [](Collective, std::size_t, double) { return 0.0; });
  ChoiceOptions options;
  options.policies = {AxisPolicy::kAny};
  std::vector<PartTime> times;
  for (const core::NodeId id : graph.order()) {
    if (graph.tensor(graph.node(id).outputs[0]).name != result) continue;
    for (const NodeChoice& choice : node_choices(graph, id, loops, work, mesh, rates, options).all)
      times.push_back({choice.forward_us, choice.backward_us});
  }
  return times;
}

constexpr const char* kResidual = R"(graph residual
  x: f32[9, 8]
  w: f32[8, 8]
  v: f32[8, 8]
  a = matmul(x, w)
  r = relu(a)
  b = matmul(r, v)
  s = add(b, r)
  t = matmul(s, w)
  return t
)";

TEST(KernelBytes, OfReluAreItsResultAndBothGradients) {
  EXPECT_DOUBLE_EQ(times_of(kResidual, "r", 1).at(0).backward_us, 3 * 72 * kFloat);
}

TEST(KernelBytes, OfAddAreGradientsAloneWhateverOthersKeep) {
  EXPECT_DOUBLE_EQ(times_of(kResidual, "s", 1).at(0).backward_us, 3 * 72 * kFloat);
}

TEST(KernelBytes, AreThoseOfTheLargestPart) {
  const std::vector<PartTime> times = times_of(kResidual, "s", 2);
  ASSERT_EQ(times.size(), 3U);  // nothing, rows, columns
  EXPECT_DOUBLE_EQ(times[1].backward_us, 3 * 40 * kFloat);
  EXPECT_DOUBLE_EQ(times[2].backward_us, 3 * 36 * kFloat);
}

TEST(WeightLayouts, HaveNoMorePiecesThanElements) {
  const Mesh mesh({2, 2}, [](Collective, std::size_t, double) { return 0.0; });
  const ComputeRates rates;
  const Digits digits;
  const ShardingOptions options;
  const WeightLayouts layouts(mesh, rates, digits, options);
  const std::vector<std::set<std::int8_t>> wanted{{0, 1}, {0, 1}};
  EXPECT_EQ(layouts.all({4, 4}, wanted).size(), 9U);
  EXPECT_EQ(layouts.all({3, 4}, wanted).size(), 8U);
  EXPECT_EQ(layouts.all({2, 2}, wanted).size(), 7U);
}

}  // namespace
}  // namespace soapstone::parallel
