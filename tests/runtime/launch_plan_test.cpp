// Launch plans: the nodes that share a launch, the nodes that cost nothing, and the order of
// launches.
#include "runtime/launches/launch_plan.h"

#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

std::vector<std::string> launches_of(const core::Graph& graph, Fusion fusion) {
  std::vector<std::string> texts;
  for (const Launch& launch : plan_launches(graph, generic_fusion(fusion)).launches) {
    std::string text;
    for (core::NodeId id : launch.nodes())
      text += (text.empty() ? "" : "+") + graph.node(id).op->name;
    texts.push_back(text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

constexpr std::string_view kBlock = R"(
  x: f32[1, 8, 6, 6]
  w: f32[8, 8, 3, 3]
  b: f32[1, 8, 1, 1]
  y = conv(x, w; pads=[1, 1, 1, 1])
  z = add(y, b)
  r = relu(z)
  s = add(r, x)
  q = sigmoid(s)
  return q
)";

TEST(LaunchPlan, NoFusionLaunchesEveryNode) {
  EXPECT_EQ(launches_of(parse(kBlock), Fusion::kNone),
            (Texts{"conv", "add", "relu", "add", "sigmoid"}));
}

TEST(LaunchPlan, ActivationFusionTakesNoBias) {
  EXPECT_EQ(launches_of(parse(kBlock), Fusion::kActivation),
            (Texts{"conv", "add", "relu", "add", "sigmoid"}));
  const auto graph = parse(R"(
  a: f32[4, 5]
  b: f32[5, 6]
  y = matmul(a, b)
  z = relu(y)
  return z
)");
  EXPECT_EQ(launches_of(graph, Fusion::kActivation), (Texts{"matmul+relu"}));
}

TEST(LaunchPlan, FullFusionTakesBiasActivationResidualActivation) {
  EXPECT_EQ(launches_of(parse(kBlock), Fusion::kFull), (Texts{"conv+add+relu+add+sigmoid"}));
  const core::Graph graph = parse(kBlock);
  const Launch launch = plan_launches(graph, generic_fusion(Fusion::kFull)).launches[0];
  std::vector<EpilogueKind> kinds;
  for (const EpilogueStep& step : launch.epilogue) kinds.push_back(step.kind);
  EXPECT_EQ(kinds, (std::vector{EpilogueKind::kBias, EpilogueKind::kActivation,
                                EpilogueKind::kResidual, EpilogueKind::kActivation}));
  EXPECT_EQ(launch.inputs.size(), 3u);  // x is read twice and listed once
  EXPECT_EQ(launch.outputs, std::vector(graph.outputs().begin(), graph.outputs().end()));
}

TEST(LaunchPlan, ResultWithTwoReadersIsStored) {
  const auto graph = parse(R"(
  a: f32[4, 5]
  b: f32[5, 6]
  y = matmul(a, b)
  z = relu(y)
  t = tanh(y)
  return z, t
)");
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"matmul", "relu", "tanh"}));
}

TEST(LaunchPlan, GraphOutputIsStored) {
  const auto graph = parse(R"(
  a: f32[4, 5]
  b: f32[5, 6]
  y = matmul(a, b)
  z = relu(y)
  return y, z
)");
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"matmul", "relu"}));
}

TEST(LaunchPlan, SumOfTwoContractionsBelongsToTheFirst) {
  const auto graph = parse(R"(
  x: f32[1, 8, 6, 6]
  w: f32[8, 8, 1, 1]
  v: f32[8, 8, 1, 1]
  y = conv(x, w)
  z = conv(x, v)
  s = add(y, z)
  q = relu(s)
  return q
)");
  // The sum needs both, so its launch runs last.
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"conv", "conv+add+relu"}));
}

TEST(LaunchPlan, BiasMustFollowTheChannel) {
  const auto graph = parse(R"(
  x: f32[1, 8, 6, 6]
  w: f32[8, 8, 1, 1]
  b: f32[6]
  y = conv(x, w)
  z = add(y, b)
  return z
)");
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"conv", "add"}));
}

/// Of a matrix product of these sides and a tensor of that shape behind it.
std::vector<EpilogueKind> steps_behind_product(const std::string& left, const std::string& right,
                                               const std::string& operand,
                                               const std::string& step = "add(y, b)") {
  const core::Graph graph =
      parse("\n  x: f32" + left + "\n  w: f32" + right + "\n  b: f32" + operand +
            "\n  y = matmul(x, w)\n  z = " + step + "\n  r = relu(z)\n  return r\n");
  std::vector<EpilogueKind> kinds;
  for (const Launch& launch : plan_launches(graph, generic_fusion(Fusion::kFull)).launches)
    if (launch.nodes().front() == graph.order().front())
      for (const EpilogueStep& each : launch.epilogue) kinds.push_back(each.kind);
  return kinds;
}

TEST(LaunchPlan, EachProductOfABatchMayHaveABiasOfItsOwn) {
  const std::vector wanted{EpilogueKind::kBatchBias, EpilogueKind::kActivation};
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 1, 6]"), wanted);
  EXPECT_EQ(steps_behind_product("[4, 5]", "[3, 5, 6]", "[3, 1, 6]"), wanted);
  EXPECT_EQ(steps_behind_product("[2, 3, 4, 5]", "[2, 3, 5, 6]", "[2, 3, 1, 6]"), wanted);
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 1, 6]", "add(b, y)"), wanted);
}

TEST(LaunchPlan, BiasOfABatchHasARowForEachProductAndNothingElse) {
  const std::vector<EpilogueKind> none;
  // One for all products, for each channel; and one for each element.
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[1, 1, 6]")[0], EpilogueKind::kBias);
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 4, 6]")[0],
            EpilogueKind::kResidual);
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 1, 1]"), none);
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 4, 1]"), none);
  // The right side is shared, or a part of the batch shares it.
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[5, 6]", "[3, 1, 6]"), none);
  EXPECT_EQ(steps_behind_product("[2, 3, 4, 5]", "[2, 1, 5, 6]", "[2, 3, 1, 6]"), none);
  EXPECT_EQ(steps_behind_product("[2, 3, 4, 5]", "[2, 3, 5, 6]", "[2, 1, 1, 6]"), none);
  EXPECT_EQ(steps_behind_product("[2, 3, 4, 5]", "[2, 3, 5, 6]", "[3, 1, 6]"), none);
  // No sum.
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 1, 6]", "mul(y, b)"), none);
  EXPECT_EQ(steps_behind_product("[3, 4, 5]", "[3, 5, 6]", "[3, 1, 6]", "sub(y, b)"), none);
}

TEST(LaunchPlan, ScaleIsFusedOnlyWhereTheResultComesFirst) {
  const std::string head = "\n  a: f32[4, 5]\n  b: f32[5, 6]\n  c: f32[]\n  y = matmul(a, b)\n";
  EXPECT_EQ(launches_of(parse(head + "  z = div(y, c)\n  return z\n"), Fusion::kFull),
            (Texts{"matmul+div"}));
  EXPECT_EQ(launches_of(parse(head + "  z = div(c, y)\n  return z\n"), Fusion::kFull),
            (Texts{"matmul", "div"}));
}

TEST(LaunchPlan, ElementwiseHeadTakesOneActivation) {
  const auto graph = parse(R"(
  a: f32[4, 5]
  b: f32[4, 5]
  s = add(a, b)
  r = relu(s)
  t = tanh(r)
  return t
)");
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"add+relu", "tanh"}));
}

TEST(LaunchPlan, ConstantsAreFoldedAndViewsAreFree) {
  const auto graph = parse(R"(
  x: f32[1, 6, 4]
  c: f32[2] = {1, 2}
  d = exp(c)
  p, q = split(x; axis=1, sizes=[2, 4])
  r = reshape(q; shape=[8, 2])
  s = mul(r, d)
  t = transpose(p; perm=[1, 0, 2])
  return s, t
)");
  const LaunchPlan plan = plan_launches(graph, generic_fusion(Fusion::kFull));
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"mul"}));
  EXPECT_EQ(plan.folded.size(), 1u);
  EXPECT_EQ(plan.views.size(), 3u);
  for (core::NodeId id : plan.folded) EXPECT_TRUE(is_free(graph, id));
  for (core::NodeId id : plan.views) EXPECT_TRUE(is_free(graph, id));
  EXPECT_FALSE(is_free(graph, plan.launches[0].head));
}

TEST(LaunchPlan, CopiesAreNotFree) {
  const auto graph = parse(R"(
  x: f32[2, 6]
  p, q = split(x; axis=1, sizes=[2, 4])
  t = transpose(p; perm=[1, 0])
  s = slice(x; axes=[0], starts=[1], sizes=[2], steps=[-1])
  e = expand(x; shape=[3, 2, 6])
  return p, q, t, s, e
)");
  EXPECT_EQ(launches_of(graph, Fusion::kFull), (Texts{"split", "transpose", "slice", "expand"}));
}

TEST(LaunchPlan, ConcatOfFreshNeighborsIsFree) {
  const std::string body = R"(
  x: f32[1, 4]
  a = relu(x)
  b = tanh(x)
)";
  EXPECT_EQ(launches_of(parse(body + "  c = concat(a, b; axis=1)\n  return c\n"), Fusion::kFull),
            (Texts{"relu", "tanh"}));
  // A graph input lies where it lies, and one tensor cannot lie in two places.
  for (const char* end : {"  c = concat(a, x; axis=1)\n  return c\n",
                          "  c = concat(a, a; axis=1)\n  return c, b\n"}) {
    EXPECT_EQ(launches_of(parse(body + end), Fusion::kFull).back(), "concat") << end;
  }
}

}  // namespace
}  // namespace soapstone::runtime::test
