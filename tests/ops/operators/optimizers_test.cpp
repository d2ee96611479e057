// Updates of weights, against the formulas of ONNX's operators, and the nodes for several weights.
#include <cmath>

#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

TEST(Sgd, GoesAgainstTheGradient) {
  const auto graph = graph_of("r: f32[]  x: f32[2]  g: f32[2]", "sgd(r, x, g; norm_coefficient=2)");
  expect_near(run(graph, {{0.5}, {1, -2}, {4, 8}})[0], {1 - 0.5 * (4 + 2), -2 - 0.5 * (8 - 4)});
}

TEST(Momentum, UsesTheWholeGradientInStepZero) {
  const char* inputs = "r: f32[]  t: i64[]  x: f32[1]  g: f32[1]  v: f32[1]";
  const auto standard = graph_of(inputs, "momentum(r, t, x, g, v; alpha=0.5, beta=0.25)", 2);
  const auto first = run(standard, {{0.1}, {0}, {1}, {4}, {2}});
  expect_near(first[1], {0.5 * 2 + 4});
  expect_near(first[0], {1 - 0.1 * 5});
  const auto later = run(standard, {{0.1}, {3}, {1}, {4}, {2}});
  expect_near(later[1], {0.5 * 2 + 0.25 * 4});
  const auto nesterov =
      graph_of(inputs, "momentum(r, t, x, g, v; alpha=0.5, beta=0.25, mode=\"nesterov\")", 2);
  expect_near(run(nesterov, {{0.1}, {3}, {1}, {4}, {2}})[0], {1 - 0.1 * (4 + 0.5 * 2)});
}

TEST(Adam, CorrectsTheRateOfEarlySteps) {
  const auto graph = graph_of("r: f32[]  t: i64[]  x: f32[1]  g: f32[1]  v: f32[1]  h: f32[1]",
                              "adam(r, t, x, g, v, h; alpha=0.5, beta=0.75, epsilon=0.125)", 3);
  const auto result = run(graph, {{0.1}, {2}, {1}, {4}, {2}, {3}});
  const double v = 0.5 * 2 + 0.5 * 4, h = 0.75 * 3 + 0.25 * 16;
  const double rate = 0.1 * std::sqrt(1 - 0.75 * 0.75) / (1 - 0.5 * 0.5);
  expect_near(result[0], {1 - rate * v / (std::sqrt(h) + 0.125)});
  expect_near(result[1], {v});
  expect_near(result[2], {h});
}

TEST(Optimizers, RefuseWhatDoesNotFit) {
  const char* inputs = "r: f32[]  t: i64[]  x: f32[2]  y: f32[3]  d: f64[2]  i: i64[2]";
  const Refusal refusals[] = {
      {"sgd.element_type", inputs, "sgd(r, i, i)"},
      {"sgd.same_type", inputs, "sgd(r, d, d)"},
      {"sgd.shape", inputs, "sgd(r, x, y)"},
      {"sgd.rate", inputs, "sgd(x, x, x)"},
      {"momentum.mode", inputs, "momentum(r, t, x, x, x; alpha=1, beta=1, mode=\"none\")", 2},
      {"momentum.step_type", inputs, "momentum(r, r, x, x, x; alpha=1, beta=1)", 2},
      {"momentum.step", inputs, "momentum(r, i, x, x, x; alpha=1, beta=1)", 2},
      {"adam.rate_type", inputs, "adam(t, t, x, x, x, x)", 3},
      {"adam.same_type", inputs, "adam(r, t, x, x, d, x)", 3},
      {"adam.shape", inputs, "adam(r, t, x, x, x, y)", 3},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

OnnxGraph two_weights() {
  OnnxGraph onnx;
  onnx.inputs.emplace_back("r", core::TensorType{kF32, {}});
  onnx.inputs.emplace_back("t", core::TensorType{core::DataType::kInt64, {}});
  OnnxNode node{"Momentum", "ai.onnx.preview.training", {"r", "t"}, {}, {}};
  for (const char* name : {"x0", "x1", "g0", "g1", "v0", "v1"}) {
    onnx.inputs.emplace_back(name, core::TensorType{kF32, {1}});
    node.inputs.emplace_back(name);
  }
  node.outputs = onnx.outputs = {"y0", "y1", "w0", "w1"};
  node.attributes = {{"alpha", 0.5F},
                     {"beta", 0.25F},
                     {"norm_coefficient", 0.0F},
                     {"mode", std::string("standard")}};
  onnx.nodes.push_back(std::move(node));
  return onnx;
}

TEST(Optimizers, ReadOneNodeForSeveralWeights) {
  const auto graph = read_onnx(two_weights());
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(graph->order().size(), 2u);
  const auto result = run(*graph, {{0.1}, {3}, {1}, {10}, {4}, {8}, {2}, {6}});
  const double v = 0.5 * 2 + 0.25 * 4, w = 0.5 * 6 + 0.25 * 8;
  expect_near(result[0], {1 - 0.1 * v});
  expect_near(result[1], {10 - 0.1 * w});
  expect_near(result[2], {v});
  expect_near(result[3], {w});
}

TEST(Optimizers, RefuseNodesThatLackInputs) {
  OnnxGraph onnx = two_weights();
  onnx.nodes[0].inputs.pop_back();
  EXPECT_FALSE(read_onnx(onnx).ok());
  onnx = two_weights();
  onnx.nodes[0].attributes.erase(onnx.nodes[0].attributes.begin());
  EXPECT_FALSE(read_onnx(onnx).ok());
}

}  // namespace
}  // namespace soapstone::ops::test
