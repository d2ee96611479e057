// Operators that stand for a few others: what follows from their expansions.
#include <gtest/gtest.h>

#include "ops/composites/composite.h"

#include <algorithm>

#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

std::vector<std::string> names_in(const core::Graph& graph) {
  std::vector<std::string> names;
  for (const core::NodeId id : graph.order()) names.push_back(graph.node(id).op->name);
  return names;
}

class EveryComposite : public ::testing::TestWithParam<OpExample> {};

TEST_P(EveryComposite, MeansWhatItStandsFor) {
  const OpExample& example = GetParam();
  const core::Graph graph = graph_of(example.inputs, example.call, example.result_count());
  const core::Graph apart = expanded(graph);
  for (const std::string& name : names_in(apart)) EXPECT_NE(name, example.op());
  const auto inputs = random_inputs(graph, 5, false);
  const auto expected = run(apart, inputs), actual = run(graph, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) expect_near(actual[k], expected[k]);
}

TEST_P(EveryComposite, SurvivesOnnx) {
  const OpExample& example = GetParam();
  const core::Graph graph = graph_of(example.inputs, example.call, example.result_count());
  const auto onnx = write_onnx(graph, 17);
  ASSERT_TRUE(onnx.ok()) << onnx.error().to_string();
  EXPECT_TRUE(std::ranges::any_of(
      onnx->nodes, [](const OnnxNode& node) { return node.domain == kContribDomain; }));
  const auto back = read_onnx(*onnx);
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  const auto inputs = random_inputs(graph, 6, false);
  const auto expected = run(graph, inputs), actual = run(*back, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) expect_near(actual[k], expected[k], 1e-6);
}

TEST(Composite, IsNotAmongTheOperatorsThatAreEnumerated) {
  for (const OpExample& example : composite_examples()) {
    EXPECT_NE(registry().definition(example.op()), nullptr) << example.op();
    for (const auto& op : registry().all()) EXPECT_NE(op->name, example.op());
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryComposite, ::testing::ValuesIn(composite_examples()),
                         example_name);

TEST(Composite, OthersStayAsTheyAre) {
  const core::Graph plain = graph_of("x: f32[2, 3]", "relu(x)");
  EXPECT_EQ(expanded(plain).hash(), plain.hash());
  const auto graph = parse("graph g\n  x: f32[2, 3]\n  b: f32[3]\n  y = relu(x)\n"
                           "  z = biased_gelu(y, b)\n  w = neg(z)\n  return w\n");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const core::Graph apart = expanded(*graph);
  EXPECT_EQ(names_in(apart), (std::vector<std::string>{"relu", "add", "gelu", "neg"}));
  const core::NodeId first = graph->order().front();
  EXPECT_EQ(&apart.node(first), &graph->node(first));
}

TEST(Composite, ExpandsOneBehindAnother) {
  const auto graph = parse("graph g\n  x: f32[2, 3]\n  y = quick_gelu(x; alpha=1.0)\n"
                           "  z = quick_gelu(y; alpha=1.0)\n  return z\n");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(names_in(expanded(*graph)),
            (std::vector<std::string>{"sigmoid", "mul", "sigmoid", "mul"}));
}

TEST(Composite, RefusesWhatItsExpansionCannotTake) {
  const Refusal refusals[] = {
      {"biased_gelu.bias", "x: f32[2, 3]  b: f32[1]", "biased_gelu(x, b)"},
      {"biased_gelu.bias_rank", "x: f32[2, 3]  b: f32[2, 3]", "biased_gelu(x, b)"},
      {"biased_gelu.element_type", "x: i64[2, 3]  b: i64[3]", "biased_gelu(x, b)"},
      {"scaled_matmul.rank", "a: f32[3]  b: f32[3, 2]", "scaled_matmul(a, b)"},
      {"sum_layer_norm.summands", "x: f32[2, 3]  y: f32[1, 3]  s: f32[3]",
       "sum_layer_norm(x, y, s)", 2},
      {"sum_rms_norm.parameters", "x: f32[2, 3]  y: f32[2, 3]  s: f32[2]", "sum_rms_norm(x, y, s)",
       2},
      {"attention.heads", "q: f32[1, 2, 2, 4]  k: f32[1, 2, 1, 4]  v: f32[1, 2, 2, 4]",
       "attention(q, k, v)"},
      {"attention.offset",
       "q: f32[1, 2, 2, 4]  k: f32[1, 2, 2, 4]  v: f32[1, 2, 2, 4]  m: f32[1, 2, 2, 3]",
       "attention(q, k, v, m)"},
      {"matmul.expansion", "a: f32[2, 3]  b: f32[2, 3]", "scaled_matmul(a, b)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

}  // namespace
}  // namespace soapstone::ops::test
