// Normalizations against plain loops, softmax where it is delicate, and ONNX before and after the
// opsets that changed them.
#include "ops/definition/indexing.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

TEST(BatchNorm, NormalizesEachChannel) {
  const core::Graph graph = graph_of("x: f32[1, 2, 2]  s: f32[2]  b: f32[2]  m: f32[2]  v: f32[2]",
                                     "batch_norm(x, s, b, m, v; epsilon=1.0)");
  expect_near(run(graph, {{1, 2, 3, 4}, {1, 2}, {0, 10}, {1, 2}, {3, 8}})[0],
              {0, 0.5, 10 + 2.0 / 3, 10 + 4.0 / 3});
}

TEST(LayerNorm, NormalizesRows) {
  const core::Graph graph =
      graph_of("x: f32[2, 3]  s: f32[3]  b: f32[3]", "layer_norm(x, s, b; axis=1, epsilon=0.25)");
  const auto inputs = random_inputs(graph, 8);
  Values expected;
  for (std::size_t row = 0; row < 2; ++row) {
    const double* x = &inputs[0][row * 3];
    const double mean = (x[0] + x[1] + x[2]) / 3;
    double variance = 0;
    for (std::size_t k = 0; k < 3; ++k) variance += (x[k] - mean) * (x[k] - mean) / 3;
    for (std::size_t k = 0; k < 3; ++k)
      expected.push_back((x[k] - mean) / std::sqrt(variance + 0.25) * inputs[1][k] + inputs[2][k]);
  }
  expect_near(run(graph, inputs)[0], expected);
}

TEST(RmsNorm, DividesByTheRoot) {
  const core::Graph graph =
      graph_of("x: f32[1, 2]  s: f32[2]", "rms_norm(x, s; axis=1, epsilon=0.5)");
  expect_near(run(graph, {{1, 2}, {1, 10}})[0], {1 / std::sqrt(3), 20 / std::sqrt(3)});
}

TEST(Softmax, StaysInRange) {
  const core::Graph graph = graph_of("x: f32[2, 2]", "softmax(x; axis=0)");
  expect_near(run(graph, {{1000, -1000, 1000, -1000 + std::log(3)}})[0], {0.5, 0.25, 0.5, 0.75});
}

TEST(LayerNorm, MayHaveItsStatisticsAsResults) {
  OnnxGraph onnx;
  onnx.inputs = {{"x", {kF32, {1, 2}}}};
  onnx.constants.emplace("s", core::Literal::floats({2}, std::vector<float>{1, 2}));
  onnx.nodes = {{"LayerNormalization", "", {"x", "s"}, {"y", "m", "d"}, {{"epsilon", 0.75f}}}};
  onnx.outputs = {"y", "m", "d"};
  const auto graph = read_onnx(onnx);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto results = run(*graph, {{2, 3}});
  expect_near(results[0], {-0.5, 1});
  expect_near(results[1], {2.5});
  expect_near(results[2], {1});
}

TEST(Normalization, RefusesWhatDoesNotFit) {
  const char* bn = "x: f32[2, 3, 4]  s: f32[3]  b: f32[3]  m: f32[3]  v: f32[3]";
  const char* wrong = "x: f32[2, 3, 4]  s: f32[3]  b: f32[3]  m: f32[3]  v: f32[4]";
  const char* square = "x: f32[2, 3, 4]  s: f32[3]  b: f32[3]  m: f32[3]  v: f32[3, 1]";
  const char* rows = "x: f32[2, 3]  s: f32[3]";
  const Refusal refusals[] = {
      {"batch_norm.element_type", "x: i64[2, 3]  s: i64[3]", "batch_norm(x, s, s, s, s)"},
      {"batch_norm.same_type", "x: f32[2, 3]  s: f16[3]", "batch_norm(x, s, s, s, s)"},
      {"batch_norm.rank", "x: f32[3]  s: f32[3]", "batch_norm(x, s, s, s, s)"},
      {"batch_norm.parameter_rank", square, "batch_norm(x, s, b, m, v)"},
      {"batch_norm.channels", wrong, "batch_norm(x, s, b, m, v)"},
      {"batch_norm.epsilon", bn, "batch_norm(x, s, b, m, v; epsilon=-0.5)"},
      {"batch_norm.epsilon", bn, "batch_norm(x, s, b, m, v; epsilon=1e300)"},
      {"layer_norm.axis", rows, "layer_norm(x, s; axis=2)"},
      {"layer_norm.concrete", "x: f32[2, n]  s: f32[n]", "layer_norm(x, s; axis=n)"},
      {"layer_norm.scale", "x: f32[2, 3]  s: f32[2]", "layer_norm(x, s; axis=1)"},
      {"layer_norm.bias", "x: f32[2, 3]  s: f32[3]  b: f32[1, 2, 3]",
       "layer_norm(x, s, b; axis=1)"},
      {"layer_norm.element_type", "x: i64[2, 3]  s: i64[3]", "layer_norm(x, s; axis=1)"},
      {"rms_norm.axis", rows, "rms_norm(x, s; axis=-1)"},
      {"rms_norm.scale", "x: f32[2, 3]  s: f32[4]", "rms_norm(x, s; axis=1)"},
      {"rms_norm.epsilon", rows, "rms_norm(x, s; axis=1, epsilon=-1.0)"},
      {"softmax.element_type", "x: i64[3]", "softmax(x; axis=0)"},
      {"softmax.axis", "x: f32[3]", "softmax(x; axis=1)"},
      {"softmax.nonempty", "x: f32[2, 0]", "softmax(x; axis=1)"},
      {"log_softmax.axis", "x: f32[3]", "log_softmax(x; axis=1)"},
      {"log_softmax.nonempty", "x: f32[2, 0]", "log_softmax(x; axis=1)"},
      {"nll_loss.label_type", "x: f32[2, 3]  t: f32[2]", "nll_loss(x, t)"},
      {"nll_loss.labels", "x: f32[2, 3]  t: i64[3]", "nll_loss(x, t)"},
      {"nll_loss.labels", "x: f32[2, 3]  t: i64[2, 3]", "nll_loss(x, t)"},
      {"nll_loss.rank", "x: f32[2]  t: i64[2]", "nll_loss(x, t)"},
      {"nll_loss.reduction", "x: f32[2, 3]  t: i64[2]", "nll_loss(x, t; reduction=\"max\")"},
      {"nll_loss.ignore_index", "x: f32[2, 3]  t: i64[2]", "nll_loss(x, t; ignore_index=[0, 1])"},
      {"nll_loss.weight", "x: f32[2, 3]  t: i64[2]  w: f32[2]", "nll_loss(x, t, w)"},
      {"nll_loss.weight_type", "x: f32[2, 3]  t: i64[2]  w: f16[3]", "nll_loss(x, t, w)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

core::Result<core::Graph> read_one(OnnxNode node, int opset, std::vector<core::Shape> shapes) {
  OnnxGraph onnx;
  onnx.opset = opset;
  for (core::Shape& shape : shapes) {
    const std::string name = "in" + std::to_string(onnx.inputs.size());
    onnx.inputs.emplace_back(name, core::TensorType{kF32, std::move(shape)});
    node.inputs.push_back(name);
  }
  if (node.outputs.empty()) node.outputs = {"y"};
  onnx.outputs = {node.outputs[0]};
  onnx.nodes = {std::move(node)};
  return read_onnx(onnx);
}

TEST(Softmax, BeforeOpset13CoercesToAMatrix) {
  const OnnxNode node{"Softmax", "", {}, {}, {{"axis", std::int64_t{1}}}};
  const core::Graph old = read_one(node, 12, {{2, 2, 2}}).value();
  const core::Graph now = read_one(node, 13, {{2, 2, 2}}).value();
  const Values zeros(8);
  expect_near(run(old, {zeros})[0], Values(8, 0.25));
  expect_near(run(now, {zeros})[0], Values(8, 0.5));
}

TEST(Softmax, DefaultAxisIsTheSecondThenTheLast) {
  const core::Graph old = read_one({"Softmax", "", {}, {}, {}}, 11, {{1, 2, 4}}).value();
  const core::Graph now = read_one({"Softmax", "", {}, {}, {}}, 13, {{1, 2, 4}}).value();
  expect_near(run(old, {Values(8)})[0], Values(8, 0.125));
  expect_near(run(now, {Values(8)})[0], Values(8, 0.25));
}

TEST(LogSoftmax, IsOneOperatorAndStaysFinite) {
  const core::Graph graph = read_one({"LogSoftmax", "", {}, {}, {}}, 13, {{2}}).value();
  EXPECT_EQ(graph.order().size(), 1u);
  expect_near(run(graph, {{0, 0}})[0], Values(2, -std::log(2)));
  expect_near(run(graph, {{-1e30, 1e30}})[0], {-2e30, 0});
}

TEST(LogSoftmax, OfAMaskedElementIsMinusInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  const core::Graph graph = graph_of("x: f32[3]", "log_softmax(x; axis=0)");
  const Values y = run(graph, {{-infinity, 1, 1}})[0];
  EXPECT_EQ(y[0], -infinity);
  EXPECT_NEAR(y[1], -std::log(2), 1e-12);
}

TEST(LogSoftmax, BeforeOpset13CoercesToAMatrix) {
  const OnnxNode node{"LogSoftmax", "", {}, {}, {{"axis", std::int64_t{1}}}};
  const core::Graph old = read_one(node, 12, {{2, 2, 2}}).value();
  expect_near(run(old, {Values(8)})[0], Values(8, -std::log(4)));
}

TEST(LogSoftmax, IsWrittenForOldOpsetsAlongTheLastDimension) {
  for (const char* call : {"softmax(x; axis=1)", "log_softmax(x; axis=1)"}) {
    const core::Graph graph = graph_of("x: f32[2, 3, 4]", call);
    const auto old = write_onnx(graph, 12);
    ASSERT_EQ(old->nodes.size(), 3u) << call;
    EXPECT_EQ(old->nodes[0].op_type, "Transpose");
    EXPECT_EQ(std::get<std::int64_t>(old->nodes[1].attributes[0].second), 2);
    EXPECT_EQ(write_onnx(graph, 13)->nodes.size(), 1u);
    EXPECT_EQ(write_onnx(graph_of("x: f32[2, 3]", call), 12)->nodes.size(), 1u);
    const auto inputs = random_inputs(graph, 5);
    expect_near(run(read_onnx(*old).value(), inputs)[0], run(graph, inputs)[0]);
  }
}

TEST(NllLoss, PicksLabelsAndWeighsThem) {
  const std::vector<Values> inputs{{1, 2, 3, 4, 5, 6}, {2, 0}, {1, 10, 100}};
  const auto loss = [&](const std::string& attributes) {
    return run(
        graph_of("x: f32[2, 3]  t: i64[2]  w: f32[3]", "nll_loss(x, t, w" + attributes + ")"),
        inputs)[0];
  };
  expect_near(loss("; reduction=\"none\""), {-300, -4});
  expect_near(loss("; reduction=\"sum\""), {-304});
  expect_near(loss(""), {-304.0 / 101});
  expect_near(loss("; ignore_index=[2]"), {-4});
}

TEST(NllLoss, AdmitsTheIgnoredLabelAndNoOtherOutOfRange) {
  const core::Graph graph =
      graph_of("x: f32[2, 3]  t: i64[2]", "nll_loss(x, t; ignore_index=[-100])");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(graph, {{infinity, 2, 3, 4, 5, 6}, {-100, 1}})[0], Values{-5});
  for (const double label : {-1.0, 3.0})
    EXPECT_FALSE(evaluate_graph<double>(graph, std::vector<Values>{Values(6), {0, label}}).ok());
}

TEST(SoftmaxCrossEntropyLoss, IsTheLossOfALogSoftmax) {
  OnnxGraph onnx;
  onnx.opset = 13;
  onnx.inputs = {{"x", {kF32, {1, 2}}}, {"t", {core::DataType::kInt64, {1}}}};
  onnx.nodes = {{"SoftmaxCrossEntropyLoss", "", {"x", "t"}, {"y", "p"}, {}}};
  onnx.outputs = {"y", "p"};
  const auto graph = read_onnx(onnx);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto outputs = run(*graph, {{-1000, 1000}, {0}});
  expect_near(outputs[0], {2000});
  expect_near(outputs[1], {-2000, 0});
}

TEST(Normalization, TrainingStaysOpaque) {
  const std::vector<core::Shape> shapes{{2, 3}, {3}, {3}, {3}, {3}};
  const OnnxNode nodes[] = {
      {"BatchNormalization", "", {}, {}, {{"training_mode", std::int64_t{1}}}},
      {"BatchNormalization", "", {}, {"y", "mean", "var"}, {}},
  };
  for (const OnnxNode& node : nodes) {
    const auto graph = read_one(node, 15, shapes);
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, core::ErrorCode::kUnsupported);
  }
  EXPECT_TRUE(read_one({"BatchNormalization", "", {}, {}, {}}, 15, shapes).ok());
}

TEST(Normalization, ReadsEpsilonAsTheDecimalItIs) {
  const core::Graph graph =
      read_one({"LayerNormalization", "", {}, {}, {{"epsilon", 1e-6f}}}, 17, {{2, 3}, {3}}).value();
  const core::Node& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.attributes.get_real("epsilon"), 1e-6);
  EXPECT_EQ(node.attributes.get_int("axis"), 1);
}

TEST(Normalization, IsComposedBeforeOnnxHadIt) {
  const core::Graph layer = graph_of("x: f32[2, 3]  s: f32[3]", "layer_norm(x, s; axis=1)");
  EXPECT_EQ(write_onnx(layer, 17)->nodes.size(), 1u);
  EXPECT_GT(write_onnx(layer, 16)->nodes.size(), 1u);
  const core::Graph rms = graph_of("x: f32[2, 3]  s: f32[3]", "rms_norm(x, s; axis=1)");
  EXPECT_EQ(write_onnx(rms, 23)->nodes.size(), 1u);
  EXPECT_GT(write_onnx(rms, 22)->nodes.size(), 1u);
}

TEST(InstanceNormalization, NormalizesEachChannelOfEachSample) {
  const core::Graph graph = read_one({"InstanceNormalization", "", {}, {}, {{"epsilon", 0.0f}}}, 13,
                                     {{1, 2, 2}, {2}, {2}})
                                .value();
  expect_near(run(graph, {{1, 3, 5, 5.5}, {1, 2}, {0, 10}})[0], {-1, 1, 8, 12});
}

TEST(GroupNormalization, ScalesGroupsThenChannels) {
  const OnnxNode node{
      "GroupNormalization", "", {}, {}, {{"num_groups", std::int64_t{1}}, {"epsilon", 0.0f}}};
  const core::Graph old = read_one(node, 18, {{1, 2, 1}, {1}, {1}}).value();
  expect_near(run(old, {{1, 3}, {2}, {10}})[0], {8, 12});
  const core::Graph now = read_one(node, 21, {{1, 2, 1}, {2}, {2}}).value();
  expect_near(run(now, {{1, 3}, {2, 3}, {10, 20}})[0], {8, 23});
}

TEST(LocalResponseNorm, DividesByAPowerOfTheSquaresOfNeighboringChannels) {
  // Four channels, of which two or three are summed: one before, and one behind.
  const auto normalized = [](float beta) {
    const OnnxNode node{
        "LRN",
        "",
        {},
        {},
        {{"size", std::int64_t{3}}, {"alpha", 3.0f}, {"beta", beta}, {"bias", 2.0f}}};
    return run(read_one(node, 13, {{1, 4, 1}}).value(), {{1, 2, 3, 4}})[0];
  };
  const double bases[] = {7, 16, 31, 27};
  for (const float beta : {0.75f, 0.5f}) {
    std::vector<double> expected;
    for (int c = 0; c < 4; ++c) expected.push_back((c + 1) / std::pow(bases[c], beta));
    expect_near(normalized(beta), expected);
  }
}

TEST(LocalResponseNorm, AnEvenWindowReachesFurtherBehind) {
  const OnnxNode node{
      "LRN", "", {}, {}, {{"size", std::int64_t{2}}, {"alpha", 2.0f}, {"beta", 1.0f}}};
  const core::Graph graph = read_one(node, 1, {{1, 3, 1, 1}}).value();
  expect_near(run(graph, {{1, 2, 3}})[0], {1.0 / 6, 2.0 / 14, 3.0 / 10});
}

}  // namespace
}  // namespace soapstone::ops::test
