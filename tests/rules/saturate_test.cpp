// E-graphs, matching in them, and what saturation with rules makes equal.
#include "rules/saturation/saturate.h"

#include <algorithm>
#include <filesystem>

#include "tests/rules/egraph_values.h"
#include "tests/rules/example_graphs.h"

namespace soapstone::rules {
namespace {

/// Two graphs of the same inputs in one e-graph.
struct Pair {
  EGraph graph;
  std::vector<ClassId> left, right;  // outputs

  Pair(const Graph& a, const Graph& b, bool constant_inputs = false) {
    std::vector<ClassId> inputs;
    for (std::size_t k = 0; k < a.inputs().size(); ++k)
      inputs.push_back(graph.add_input(static_cast<std::uint32_t>(k), a.tensor(a.inputs()[k]).type,
                                       constant_inputs));
    const auto in_a = graph.add_graph(a, inputs), in_b = graph.add_graph(b, inputs);
    for (TensorId id : a.outputs()) left.push_back(in_a[id.index()]);
    for (TensorId id : b.outputs()) right.push_back(in_b[id.index()]);
  }
  bool are_equal() const {
    return std::ranges::equal(
        left, right, {}, [&](ClassId c) { return graph.find(c); },
        [&](ClassId c) { return graph.find(c); });
  }
};

SaturationReport saturated(Pair& pair, const SaturationRules& rules,
                           const SaturationLimits& limits = {}) {
  return saturate(pair.graph, rules, limits, nullptr, core::StopToken());
}

/// Saturates with both sides of the text, which starts with the inputs: `inputs == left == right`.
void expect_equal(std::string_view rules, const std::string& inputs, const std::string& left,
                  const std::string& right, bool equal = true) {
  const SaturationRules prepared(rules_of(rules));
  Pair pair(graph_of("graph a\n" + inputs + left), graph_of("graph b\n" + inputs + right));
  const SaturationGoal are_equal = [&](const EGraph&) { return pair.are_equal(); };
  const auto report = saturate(pair.graph, prepared, {}, are_equal, core::StopToken());
  EXPECT_EQ(pair.are_equal(), equal) << left << "\nand\n" << right;
  if (!equal) {
    EXPECT_EQ(report.end, SaturationEnd::kSaturated);
  }
  EXPECT_THAT(check_members(pair.graph, prepared, 5).disagreements, testing::IsEmpty());
}

constexpr std::string_view kAssociate = R"(rule associate
  x: [n, m]   y: [n, m]   z: [n, m]
  source
    t = add(x, y)
    r = add(t, z)
  target
    u = add(y, z)
    r = add(x, u)
)";

const std::string kMergeAndFlatten = kMergeMatmuls + R"(
rule flatten_split
  x: [m, s]
  source
    y, z = split(x; axis=1, sizes=[i, j])
    u, v = split(y; axis=1, sizes=[k, l])
  target
    u, v, z = split(x; axis=1, sizes=[k, l, j])

rule flatten_concat
  x: [m, i]   y: [m, j]   z: [m, k]
  source
    t = concat(x, y; axis=1)
    r = concat(t, z; axis=1)
  target
    r = concat(x, y, z; axis=1)
)";

TEST(EGraph, EqualNodesAreOne) {
  EGraph graph;
  const Graph twice = graph_of("graph g\n  x: f32[2, 3]\n  y: f32[2, 3]\n  a = add(x, y)\n"
                               "  b = add(y, x)\n  c = sub(a, b)\n  return c");
  const core::TensorType type = twice.tensor(twice.inputs()[0]).type;
  const std::vector<ClassId> inputs{graph.add_input(0, type), graph.add_input(1, type)};
  graph.add_graph(twice, inputs);
  EXPECT_EQ(graph.node_count(), 4u);  // two inputs, one sum, one difference
}

TEST(EGraph, MergingOperandsMergesResults) {
  EGraph graph;
  const Graph chain = graph_of("graph g\n  x: f32[2]\n  y: f32[2]\n  a = relu(x)\n  b = relu(y)\n"
                               "  c = tanh(a)\n  d = tanh(b)\n  return c, d");
  const core::TensorType type = chain.tensor(chain.inputs()[0]).type;
  const std::vector<ClassId> inputs{graph.add_input(0, type), graph.add_input(1, type)};
  const auto classes = graph.add_graph(chain, inputs);
  const ClassId c = classes[chain.outputs()[0].index()], d = classes[chain.outputs()[1].index()];
  EXPECT_NE(graph.find(c), graph.find(d));
  EXPECT_TRUE(graph.merge(inputs[0], inputs[1]));
  graph.rebuild();
  EXPECT_EQ(graph.find(c), graph.find(d));
  EXPECT_EQ(graph.node_count(), 4u);
  EXPECT_EQ(graph.class_count(), 3u);
}

TEST(EGraph, ClassesOfDifferentTypesDoNotMerge) {
  EGraph graph;
  const ClassId a = graph.add_input(0, {core::DataType::kFloat32, {2}});
  const ClassId b = graph.add_input(1, {core::DataType::kFloat32, {3}});
  EXPECT_FALSE(graph.merge(a, b));
}

TEST(EGraph, WhatEqualsAConstantExpressionIsConstant) {
  EGraph graph;
  const Graph g = graph_of("graph g\n  x: f32[2]\n  w: f32[2]\n  a = add(x, w)\n  return a");
  const core::TensorType type = g.tensor(g.inputs()[0]).type;
  const std::vector<ClassId> inputs{graph.add_input(0, type), graph.add_input(1, type, true)};
  const ClassId sum = graph.add_graph(g, inputs)[g.outputs()[0].index()];
  EXPECT_FALSE(graph[sum].constant);
  const std::vector<float> ones(2, 1.0F);
  graph.merge(inputs[0], graph.add_constant(
                             std::make_shared<core::Literal>(core::Literal::floats({2}, ones))));
  graph.rebuild();
  EXPECT_TRUE(graph[sum].constant);
}

TEST(EGraph, OpaqueNodesAreNeverEqual) {
  core::GraphBuilder builder("g");
  const core::TensorType type{core::DataType::kFloat32, {2}};
  const TensorId x = builder.add_input("x", type);
  const core::Attributes attributes{
      {"domain", ""}, {"op_type", std::string("Noise")}, {"proto", ""}};
  std::vector<TensorId> outputs;
  for (int k = 0; k < 2; ++k)
    outputs.push_back(builder.add_node(ops::opaque_schema(), attributes, {x}, {type})[0]);
  builder.set_outputs(outputs);
  const Graph g = *std::move(builder).finish();
  EGraph graph;
  const std::vector<ClassId> inputs{graph.add_input(0, type, true)};
  const auto classes = graph.add_graph(g, inputs);
  const ClassId a = classes[outputs[0].index()], b = classes[outputs[1].index()];
  EXPECT_NE(graph.find(a), graph.find(b));
  EXPECT_FALSE(graph[a].constant);
}

TEST(Saturate, ChainsAreReassociatedInAnyOrder) {
  expect_equal(kAssociate,
               "  a: f32[2, 3]\n  b: f32[2, 3]\n  c: f32[2, 3]\n  d: f32[2, 3]\n  e: f32[2, 3]\n",
               "  p = add(a, b)\n  q = add(p, c)\n  r = add(q, d)\n  s = add(r, e)\n  return s\n",
               "  p = add(e, c)\n  q = add(b, d)\n  r = add(q, p)\n  s = add(a, r)\n  return s\n");
}

TEST(Saturate, OtherSumsStayDifferent) {
  expect_equal(kAssociate, "  a: f32[2, 3]\n  b: f32[2, 3]\n  c: f32[2, 3]\n",
               "  p = add(a, b)\n  q = add(p, c)\n  return q\n",
               "  p = add(a, b)\n  q = add(p, b)\n  return q\n", false);
}

TEST(Saturate, ThreeProductsAreMergedByTheRuleForTwo) {
  expect_equal(kMergeAndFlatten, "  x: f32[2, 3]\n  a: f32[3, 4]\n  b: f32[3, 5]\n  c: f32[3, 6]\n",
               "  p = matmul(x, a)\n  q = matmul(x, b)\n  r = matmul(x, c)\n  return p, q, r\n",
               "  w = concat(a, b, c; axis=1)\n  y = matmul(x, w)\n"
               "  p, q, r = split(y; axis=1, sizes=[4, 5, 6])\n  return p, q, r\n");
}

TEST(Saturate, PartsInAnotherOrderAreOtherTensors) {
  const SaturationRules rules(rules_of(kMergeAndFlatten));
  const std::string inputs = "  x: f32[2, 3]\n  a: f32[3, 4]\n  b: f32[3, 4]\n";
  Pair pair(
      graph_of("graph a\n" + inputs + "  p = matmul(x, a)\n  q = matmul(x, b)\n  return p, q\n"),
      graph_of("graph b\n" + inputs +
               "  w = concat(a, b; axis=1)\n  y = matmul(x, w)\n"
               "  p, q = split(y; axis=1, sizes=[4, 4])\n  return q, p\n"));
  SaturationLimits limits;
  limits.nodes = 300;
  saturated(pair, rules, limits);
  EXPECT_FALSE(pair.are_equal());
}

TEST(Saturate, AMatchMayUseAnENodeTwice) {
  expect_equal("rule factor_out\n  x: [n]   a: [n]   b: [n]\n"
               "  source\n    u = mul(x, a)\n    v = mul(x, b)\n    y = add(u, v)\n"
               "  target\n    ab = add(a, b)\n    y = mul(x, ab)\n",
               "  x: f32[5]\n  a: f32[5]\n", "  u = mul(x, a)\n  y = add(u, u)\n  return y\n",
               "  aa = add(a, a)\n  y = mul(x, aa)\n  return y\n");
}

TEST(Saturate, GuardsDecideWhereARuleApplies) {
  constexpr std::string_view kRule =
      "rule slice_of_second_part\n  x: [n]   z: [m]\n"
      "  where s >= n\n"
      "  source\n    t = concat(x, z; axis=0)\n"
      "    y = slice(t; axes=[0], starts=[s], sizes=[k], steps=[1])\n"
      "  target\n"
      "    y = slice(z; axes=[0], starts=[s - n], sizes=[k], "
      "steps=[1])\n";
  const std::string inputs = "  x: f32[5]\n  z: f32[7]\n  t = concat(x, z; axis=0)\n";
  expect_equal(kRule, inputs,
               "  y = slice(t; axes=[0], starts=[6], sizes=[3], steps=[1])\n  return y\n",
               "  y = slice(z; axes=[0], starts=[1], sizes=[3], steps=[1])\n  return y\n");
  expect_equal(kRule, inputs,
               "  y = slice(t; axes=[0], starts=[3], sizes=[3], steps=[1])\n  return y\n",
               "  y = slice(z; axes=[0], starts=[1], sizes=[3], steps=[1])\n  return y\n", false);
}

TEST(Saturate, ConstantInputsMatchOnlyConstants) {
  const SaturationRules rules(rules_of("rule div_constant_as_mul\n  x: [n]   c: [] constant\n"
                                       "  source\n    r = div(x, c)\n"
                                       "  target\n    ic = reciprocal(c)\n    r = mul(x, ic)\n"));
  const Graph a = graph_of("graph a\n  x: f32[5]\n  c: f32[]\n  r = div(x, c)\n  return r\n");
  const Graph b = graph_of("graph b\n  x: f32[5]\n  c: f32[]\n  i = reciprocal(c)\n"
                           "  r = mul(x, i)\n  return r\n");
  for (const bool constant : {false, true}) {
    Pair pair(a, b, constant);
    saturated(pair, rules);
    EXPECT_EQ(pair.are_equal(), constant);
  }
}

TEST(Saturate, EndsAtTheLimitOfNodes) {
  const SaturationRules rules(
      rules_of("rule grow\n  x: [n]\n  source\n    y = relu(x)\n"
               "  target\n    z = neg(x)\n    u = neg(z)\n    y = relu(u)\n"));
  const Graph g = graph_of("graph g\n  x: f32[5]\n  y = relu(x)\n  return y\n");
  Pair pair(g, g);
  SaturationLimits limits;
  limits.nodes = 50;
  EXPECT_EQ(saturated(pair, rules, limits).end, SaturationEnd::kNodes);
  limits.rounds = 3;
  Pair again(g, g);
  EXPECT_EQ(saturated(again, rules, limits).end, SaturationEnd::kRounds);
}

TEST(Saturate, AStopIsHeeded) {
  core::StopToken stop;
  stop.request_stop();
  const Graph g = graph_of(kExampleGraphs[0]);
  Pair pair(g, g);
  const SaturationRules rules(rules_of(kAssociate));
  EXPECT_EQ(saturate(pair.graph, rules, {}, nullptr, stop).end, SaturationEnd::kStopped);
}

TEST(Saturate, AWrongRuleMakesMembersDisagree) {
  const SaturationRules rules(rules_of("rule wrong\n  x: [n]   y: [n]\n"
                                       "  source\n    r = sub(x, y)\n"
                                       "  target\n    r = sub(y, x)\n"));
  const Graph g = graph_of("graph g\n  x: f32[5]\n  y: f32[5]\n  r = sub(x, y)\n  return r\n");
  Pair pair(g, g);
  saturated(pair, rules);
  EXPECT_THAT(check_members(pair.graph, rules, 1).disagreements, testing::Not(testing::IsEmpty()));
}

/// All but laws of functions, which do not hold in the field.
const SaturationRules& shipped_saturation() {
  static const SaturationRules kRules = [] {
    auto file = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
    CHECK(file.ok(), file.error().to_string());
    std::erase_if(file->rules, is_law_of_functions);
    return SaturationRules(file->rules);
  }();
  return kRules;
}

class SaturateExample : public testing::TestWithParam<std::string_view> {};

TEST_P(SaturateExample, MembersOfClassesAreEqual) {
  const Graph g = graph_of(GetParam());
  Pair pair(g, g);
  SaturationLimits limits;
  limits.nodes = 500;
  const auto report = saturated(pair, shipped_saturation(), limits);
  EXPECT_GE(report.by_rule.size(), 5U);
  const MemberCheck check = check_members(pair.graph, shipped_saturation(), 3);
  EXPECT_THAT(check.disagreements, testing::IsEmpty());
  EXPECT_GE(check.compared, 50u);
}

TEST_P(SaturateExample, IsDeterministic) {
  const Graph g = graph_of(GetParam());
  SaturationLimits limits;
  limits.nodes = 1000;
  Pair first(g, g), second(g, g);
  const auto a = saturated(first, shipped_saturation(), limits);
  const auto b = saturated(second, shipped_saturation(), limits);
  EXPECT_EQ(a.by_rule, b.by_rule);
  EXPECT_EQ(a.matches, b.matches);
  ASSERT_EQ(first.graph.node_bound(), second.graph.node_bound());
  for (std::size_t k = 0; k < first.graph.node_bound(); ++k) {
    EXPECT_EQ(first.graph.op(ENodeId(k)), second.graph.op(ENodeId(k)));
    EXPECT_TRUE(
        std::ranges::equal(first.graph.operands(ENodeId(k)), second.graph.operands(ENodeId(k))));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SaturateExample, testing::ValuesIn(kExampleGraphs),
                         [](const auto& test) {
                           const std::string_view name =
                               test.param.substr(std::string_view("graph ").size());
                           return std::string(name.substr(0, name.find('\n')));
                         });

}  // namespace
}  // namespace soapstone::rules
