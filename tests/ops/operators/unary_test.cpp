// Elementwise functions at known values, casts, and the ONNX forms of clip and gelu.
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

struct KnownUnary {
  const char* call;
  Values x, y;
};

TEST(Unary, HasKnownValues) {
  const KnownUnary known[] = {
      {"relu(x)", {-1, 0, 2}, {0, 0, 2}},
      {"leaky_relu(x; alpha=0.5)", {-2, 0, 2}, {-1, 0, 2}},
      {"elu(x; alpha=0.5)", {-1, 0, 2}, {0.5 * std::expm1(-1), 0, 2}},
      {"sigmoid(x)", {0, std::log(3), -std::log(3)}, {0.5, 0.75, 0.25}},
      {"tanh(x)", {0, std::atanh(0.5), -std::atanh(0.25)}, {0, 0.5, -0.25}},
      {"erf(x)", {0, 1, -1}, {0, std::erf(1), -std::erf(1)}},
      {"exp(x)", {0, 1, std::log(2)}, {1, std::exp(1), 2}},
      {"log(x)", {1, std::exp(2), 0.5}, {0, 2, -std::log(2)}},
      {"sqrt(x)", {0, 4, 2}, {0, 2, std::sqrt(2)}},
      {"neg(x)", {-1, 0, 2}, {1, 0, -2}},
      {"abs(x)", {-1, 0, 2}, {1, 0, 2}},
      {"reciprocal(x)", {-1, 0.5, 4}, {-1, 2, 0.25}},
      {"hard_swish(x)", {-4, 1, 4}, {0, 2.0 / 3, 4}},
      {"hard_sigmoid(x)", {-4, 1, 4}, {0, 0.7, 1}},
      {"softplus(x)", {0, 1000, -50}, {std::log(2), 1000, std::exp(-50)}},
      {"floor(x)", {-1.5, 0.5, 2}, {-2, 0, 2}},
      {"ceil(x)", {-1.5, 0.5, 2}, {-1, 1, 2}},
      {"round(x)", {-1.5, 0.5, 2.5}, {-2, 0, 2}},
      {"sin(x)", {0, 1, -2}, {0, std::sin(1), std::sin(-2)}},
      {"cos(x)", {0, 1, -2}, {1, std::cos(1), std::cos(-2)}},
      {"clip(x; min=-1.0, max=1.0)", {-2, 0.5, 2}, {-1, 0.5, 1}},
      {"clip(x; min=2.0, max=1.0)", {0, 1.5, 3}, {1, 1, 1}},
      {"gelu(x)",
       {0, 1, -1},
       {0, 0.5 + std::erf(std::sqrt(0.5)) / 2, -0.5 + std::erf(std::sqrt(0.5)) / 2}},
      {"cast(x; to=\"i64\")", {-1.5, 0.5, 2.9}, {-1, 0, 2}},
      {"cast(x; to=\"bool\")", {-1.5, 0, 2.9}, {1, 0, 1}},
      {"cast(x; to=\"f16\")", {-1.5, 0, 2}, {-1.5, 0, 2}},
  };
  for (const KnownUnary& k : known) {
    SCOPED_TRACE(k.call);
    expect_near(run(graph_of("x: f32[3]", k.call), {k.x})[0], k.y);
  }
}

TEST(Unary, GeluByTanhIsCloseToGelu) {
  const Values x{-3, -1, 0, 0.5, 2};
  expect_near(run(graph_of("x: f32[5]", "gelu(x; approximate=\"tanh\")"), {x})[0],
              run(graph_of("x: f32[5]", "gelu(x)"), {x})[0], 1e-3);
}

TEST(Unary, KeepsTheElementType) {
  for (const char* type : {"f16", "bf16", "f64"}) {
    const core::Graph graph = graph_of("x: " + std::string(type) + "[2]", "exp(x)");
    EXPECT_EQ(core::to_string(graph.tensor(graph.outputs()[0]).type.data_type), type);
  }
}

TEST(Unary, RefusesWhatDoesNotFit) {
  const Refusal refusals[] = {
      {"exp.element_type", "x: i64[2]", "exp(x)"},
      {"relu.element_type", "x: u8[2]", "relu(x)"},
      {"not.element_type", "x: f32[2]", "not(x)"},
      {"leaky_relu.alpha", "x: f32[2]", "leaky_relu(x; alpha=1e30)"},
      {"elu.alpha", "x: f32[2]", "elu(x; alpha=1e30)"},
      {"hard_sigmoid.beta", "x: f32[2]", "hard_sigmoid(x; beta=1e-30)"},
      {"clip.min", "x: f32[2]", "clip(x; min=inf)"},
      {"gelu.approximate", "x: f32[2]", "gelu(x; approximate=\"fast\")"},
      {"cast.to", "x: f32[2]", "cast(x; to=\"u8\")"},
      {"cast.to", "x: f32[2]", "cast(x; to=\"float\")"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

core::Result<core::Graph> read_clip(int opset, std::vector<std::pair<std::string, OnnxAttribute>> a,
                                    std::map<std::string, core::Literal> constants,
                                    std::vector<std::string> inputs) {
  OnnxGraph onnx;
  onnx.opset = opset;
  onnx.inputs = {{"x", {kF32, {3}}}, {"bound", {kF32, {}}}};
  onnx.constants = std::move(constants);
  onnx.nodes = {{"Clip", "", std::move(inputs), {"y"}, std::move(a)}};
  onnx.outputs = {"y"};
  return read_onnx(onnx);
}

TEST(Clip, BoundsWereAttributesAndAreInputs) {
  const std::vector<Values> x{{-5, 0.5, 5}, {1}};
  const core::Graph old = read_clip(10, {{"min", -1.0f}}, {}, {"x"}).value();
  expect_near(run(old, x)[0], {-1, 0.5, 5});
  ASSERT_EQ(old.order().size(), 1u);
  EXPECT_EQ(old.node(old.order()[0]).attributes.get_real("max"), std::numeric_limits<float>::max());
  const core::Graph now =
      read_clip(13, {}, {{"high", core::Literal::scalar(2)}}, {"x", "", "high"}).value();
  expect_near(run(now, x)[0], {-5, 0.5, 2});
  EXPECT_EQ(now.node(now.order().back()).op->name, "clip");
}

TEST(Clip, BoundsAtRunTimeAreAMaximumAndAMinimum) {
  const core::Graph graph =
      read_clip(13, {}, {{"high", core::Literal::scalar(2)}}, {"x", "bound", "high"}).value();
  EXPECT_EQ(graph.node(graph.order()[0]).op->name, "max");
  expect_near(run(graph, {{-5, 0.5, 5}, {1}})[0], {1, 1, 2});
}

TEST(Clip, TheLargestFloatIsABoundOfInfinity) {
  const float largest = std::numeric_limits<float>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const core::Graph& graph :
       {read_clip(6, {{"min", 0.0f}, {"max", largest}}, {}, {"x"}).value(),
        read_clip(10, {{"min", 0.0f}}, {}, {"x"}).value(),
        read_clip(11, {},
                  {{"low", core::Literal::scalar(0)}, {"high", core::Literal::scalar(largest)}},
                  {"x", "low", "high"})
            .value()})
    EXPECT_EQ(run(graph, {{-5, 2, infinity}, {1}})[0], (Values{0, 2, largest}));
}

/// The standard and ONNX Runtime agree on this.
TEST(Clip, ABoundThatIsLeftOutIsTheLargestNumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = std::numeric_limits<float>::max();
  const std::vector<Values> x{{-infinity, 2, infinity}, {1}};
  const core::Graph low =
      read_clip(11, {}, {{"low", core::Literal::scalar(0)}}, {"x", "low"}).value();
  EXPECT_EQ(run(low, x)[0], (Values{0, 2, largest}));
  EXPECT_EQ(run(read_clip(11, {}, {}, {"x"}).value(), x)[0], (Values{-largest, 2, largest}));
}

TEST(Clip, AnInfiniteBoundIsNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  const core::Graph graph =
      read_clip(11, {},
                {{"low", core::Literal::scalar(0)},
                 {"high", core::Literal::scalar(std::numeric_limits<float>::infinity())}},
                {"x", "low", "high"})
          .value();
  EXPECT_EQ(run(graph, {{-5, 2, infinity}, {1}})[0], (Values{0, 2, infinity}));
}

TEST(Cast, KeepsOpaqueWhatWouldWrapAndDropsWhatDoesNothing) {
  const auto read = [](std::int64_t to) {
    OnnxGraph onnx;
    onnx.inputs = {{"x", {kF32, {3}}}};
    onnx.nodes = {{"Cast", "", {"x"}, {"y"}, {{"to", to}}}};
    onnx.outputs = {"y"};
    return read_onnx(onnx);
  };
  EXPECT_TRUE(read(1)->order().empty());
  EXPECT_EQ(read(7)->order().size(), 1u);
  const auto narrow = read(2);
  ASSERT_FALSE(narrow.ok());
  EXPECT_EQ(narrow.error().code, core::ErrorCode::kUnsupported);
}

TEST(Unary, IsComposedBeforeOnnxHadIt) {
  const core::Graph gelu = graph_of("x: f32[3]", "gelu(x)");
  EXPECT_EQ(write_onnx(gelu, 20)->nodes.size(), 1u);
  EXPECT_EQ(write_onnx(gelu, 19)->nodes.front().op_type, "Mul");
  const core::Graph swish = graph_of("x: f32[3]", "hard_swish(x)");
  EXPECT_EQ(write_onnx(swish, 14)->nodes.size(), 1u);
  EXPECT_EQ(write_onnx(swish, 13)->nodes.front().op_type, "HardSigmoid");
}

}  // namespace
}  // namespace soapstone::ops::test
