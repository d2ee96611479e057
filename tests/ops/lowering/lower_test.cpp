// Comprehensions written with standard operators: all operators and all their gradients compute the
// same as their definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/gradients/append_gradient.h"
#include "ops/gradients/gradient_operator.h"
#include "ops/lowering/lower.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using core::TensorId;

/// The graph with its only node written with standard operators.
core::Graph lowered(const core::Graph& graph) {
  const core::NodeId id = graph.order()[0];
  core::GraphBuilder builder(graph);
  SharedNodes nodes(builder, core::Graph());
  const auto results = lower(nodes, graph.node(id));
  EXPECT_TRUE(results.ok()) << results.error().to_string();
  if (!results) return graph;
  for (std::size_t k = 0; k < results->size(); ++k)
    builder.replace_uses(graph.node(id).outputs[k], (*results)[k]);
  return std::move(builder).finish().value();
}

/// Whether some tensor has no elements: these are refused.
bool is_empty(const core::Graph& graph) {
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k)
    if (const TensorId t(k); graph.contains(t) && count_of(graph.tensor(t).type) == 0) return true;
  return false;
}

void expect_equal(const core::Graph& graph, bool positive) {
  // Constants such as 0.999 are rounded to floats, and 1 − 0.999 has few digits left.
  constexpr double tolerance = 1e-4;
  const core::Graph written = lowered(graph);
  for (const core::NodeId id : written.order())
    EXPECT_FALSE(gradient_of(written, id).has_value()) << core::print(written);
  for (std::size_t k = 0; k < graph.outputs().size(); ++k)
    EXPECT_EQ(written.tensor(written.outputs()[k]).type, graph.tensor(graph.outputs()[k]).type);
  const auto inputs = random_inputs(graph, 7, positive);
  const auto expected = run(graph, inputs), actual = run(written, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(actual[k].size(), expected[k].size());
    for (std::size_t i = 0; i < expected[k].size(); ++i) {
      const double e = expected[k][i];
      if (std::isfinite(e))
        EXPECT_NEAR(actual[k][i], e, tolerance * (1 + std::fabs(e))) << core::print(written);
      else
        EXPECT_FALSE(std::isfinite(actual[k][i]));
    }
  }
}

class Lowered : public ::testing::TestWithParam<OpExample> {};

TEST_P(Lowered, ComputesTheSame) {
  const OpExample& example = GetParam();
  const core::Graph graph = graph_of(example.inputs, example.call, example.result_count());
  if (graph.order().empty() || is_empty(graph)) return;
  expect_equal(graph, example.positive);
}

TEST_P(Lowered, ComputesTheSameGradients) {
  const OpExample& example = GetParam();
  const core::Graph forward = graph_of(example.inputs, example.call, example.result_count());
  if (forward.order().empty()) return;
  const core::Node& node = forward.node(forward.order()[0]);
  const auto is_real = [&](TensorId t) {
    return t.valid() && core::is_floating(forward.tensor(t).type.data_type);
  };
  if (!is_real(node.outputs[0])) return;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!is_real(node.inputs[k])) continue;
    SCOPED_TRACE(k);
    core::GraphBuilder builder(forward);
    std::vector<TensorId> cotangents;
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      cotangents.push_back(
          builder.add_input("dy" + std::to_string(o), forward.tensor(node.outputs[o]).type));
    const TensorId result = append_gradient(builder, node, k, cotangents);
    if (!result.valid()) continue;  // 0 everywhere
    builder.set_outputs({result});
    const core::Graph graph = std::move(builder).finish().value();
    if (!graph.order().empty() && !is_empty(graph)) expect_equal(graph, example.positive);
  }
}

TEST(Lowering, RefusesTensorsWithoutElements) {
  const core::Graph graph =
      graph_of("x: f32[5]", "slice(x; axes=[0], starts=[0], sizes=[0], steps=[1])");
  core::GraphBuilder builder(graph);
  SharedNodes nodes(builder, core::Graph());
  const auto results = lower(nodes, graph.node(graph.order()[0]));
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().code, core::ErrorCode::kUnsupported);
}

TEST(Lowering, SharesWhatTwoNodesCompute) {
  const core::Graph graph = graph_of("x: f32[4, 3]  s: f32[3]", "rms_norm(x, s; axis=1)");
  core::GraphBuilder builder(graph);
  SharedNodes nodes(builder, core::Graph());
  const auto first = lower(nodes, graph.node(graph.order()[0]));
  const auto second = lower(nodes, graph.node(graph.order()[0]));
  EXPECT_EQ(first->front(), second->front());
}

INSTANTIATE_TEST_SUITE_P(All, Lowered, ::testing::ValuesIn(op_examples()), example_name);

}  // namespace
}  // namespace soapstone::ops::test
