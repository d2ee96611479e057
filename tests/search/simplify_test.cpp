#include "search/baseline/simplify.h"

#include <gmock/gmock.h>

#include <map>

#include "ops/definition/indexing.h"
#include "runtime/execution/executor.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

TEST(MergeDuplicates, EqualNodesBecomeOne) {
  const auto graph = graph_of(R"(graph g
  x: f32[2, 3]
  a = relu(x)
  b = relu(x)
  c = sigmoid(a)
  d = sigmoid(b)
  y = add(c, d)
  return y
)");
  int merged = 0;
  const auto result = merge_duplicates(graph, &merged);
  EXPECT_EQ(merged, 2);
  EXPECT_EQ(result.order().size(), 3U);
}

TEST(MergeDuplicates, EqualConstantsCountAsOneValue) {
  core::GraphBuilder builder;
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {2, 3}, true});
  const auto y = ops::append(builder, "matmul", {x, builder.add_constant(weights(3, 3, 1))});
  const auto z = ops::append(builder, "matmul", {x, builder.add_constant(weights(3, 3, 1))});
  builder.set_outputs({(*y)[0], (*z)[0]});
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(merge_duplicates(*graph).order().size(), 1U);
}

TEST(MergeDuplicates, AttributesAndInputOrderTellNodesApart) {
  const auto graph = graph_of(R"(graph g
  x: f32[2, 2]
  z: f32[2, 2]
  a = sub(x, z)
  b = sub(z, x)
  c = softmax(x; axis=0)
  d = softmax(x; axis=1)
  return a, b, c, d
)");
  EXPECT_EQ(merge_duplicates(graph).order().size(), 4U);
}

TEST(FoldNumbers, NumbersOfNumbersBecomeOneAndWeightsStay) {
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[2]
  c: f32[] = {1.4142135}
  w: f32[2] = {1, 2}
  i = reciprocal(c)
  h = mul(i, i)
  n = neg(w)
  a = mul(x, h)
  y = add(a, n)
  return y
)"));
  EXPECT_EQ(graph.order().size(), 3U) << "neg, mul, add";
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (node.op->name != "mul") continue;
    EXPECT_NEAR(graph.tensor(node.inputs[1]).value->to_doubles()[0], 0.5, 1e-6);
  }
}

TEST(FoldNumbers, DimensionsThatNoReaderNeedsAreDropped) {
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[2, 3]
  m: bool[2, 3]
  c: f32[1] = {4}
  y = where(m, c, x)
  return y)"));
  const core::Node& node = graph.node(graph.order()[0]);
  EXPECT_TRUE(graph.tensor(node.inputs[1]).type.shape.empty());
}

TEST(FoldNumbers, WhatIsDoneToFilledTensorsFillsOne) {
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[2, 6]
  c: f32[] = {0.5}
  z = full(; shape=[3], value=0.0)
  o = full(; shape=[2, 3], value=1.0)
  h = mul(z, c)
  r = add(o, h)
  s = concat(o, r; axis=1)
  t, u = split(s; axis=1, sizes=[4, 2])
  v = concat(u, t; axis=1)
  y = add(x, v)
  return y
)"));
  ASSERT_EQ(graph.order().size(), 2U) << "a tensor of ones, and the sum";
  const core::Node& filled = graph.node(graph.order()[0]);
  EXPECT_EQ(filled.attributes.get_real("value"), 1.0);
}

TEST(FoldNumbers, WeightsThatAreFilledStayWeights) {
  // Models without their weights are filled with some number; what is computed from weights is
  // compared with others in their place.
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[2, 3]
  w = full(; shape=[3], value=0.25)
  s = full(; shape=[3], value=3.0)
  o: f32[] = {1}
  v = add(w, o)
  f = mul(v, s)
  y = mul(x, f)
  return y
)"));
  EXPECT_EQ(graph.order().size(), 5U);
}

TEST(MergeDuplicates, ZeroAndNegativeZeroAreTwoNumbers) {
  const auto graph = merge_duplicates(graph_of(R"(graph g
  x: f32[4]
  z = full(; shape=[4], value=0.0)
  n = full(; shape=[4], value=-0.0)
  a = div(x, z)
  b = div(x, n)
  y = max(a, b)
  return y
)"));
  EXPECT_EQ(graph.order().size(), 5U);
}

TEST(FoldNumbers, PartsOfZerosOfBothSignsStayApart) {
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[4]
  z = full(; shape=[2], value=0.0)
  n = full(; shape=[2], value=-0.0)
  s = concat(z, n; axis=0)
  y = div(x, s)
  return y
)"));
  EXPECT_EQ(graph.order().size(), 4U);
}

TEST(FoldNumbers, FilledTensorsOfUnlikeNumbersStayApart) {
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[4]
  z = full(; shape=[2], value=0.0)
  o = full(; shape=[2], value=1.0)
  n = neg(z)
  i = reciprocal(z)
  s = concat(z, o; axis=0)
  t = concat(n, i; axis=0)
  a = mul(x, s)
  y = add(a, t)
  return y
)"));
  EXPECT_EQ(graph.order().size(), 8U) << "a negative zero and an infinity are no numbers of rules";
}

TEST(FoldNumbers, WhatIsNoNumberStays) {
  const auto graph = fold_numbers(graph_of(R"(graph g
  x: f32[2]
  c: f32[] = {0}
  i = reciprocal(c)
  y = mul(x, i)
  return y
)"));
  EXPECT_EQ(graph.order().size(), 2U);
}

TEST(NarrowConstants, HoldOnceWhatTheirReadersRepeat) {
  const auto graph = narrow_constants(graph_of(R"(graph g
  x: f32[2, 2, 3]
  b: f32[2, 2, 3] = {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}
  m: f32[2, 2] = {1, 2, 1, 2}
  w: f32[3, 2] = {1, 2, 1, 2, 1, 2}
  n: f32[2, 2] = {1, 2, 1, 2}
  z: f32[2, 2] = {3, 4, 3, 4}
  a = add(x, b)
  p = matmul(a, w)
  q = mul(p, m)
  r = sub(n, z)
  y = add(q, r)
  return y
)"));
  std::map<std::string, core::Dims> dims;
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k)
    if (const core::TensorId id(k); graph.contains(id) && graph.tensor(id).value)
      dims[graph.tensor(id).name] = graph.tensor(id).value->dims();
  EXPECT_EQ(dims.at("b"), (core::Dims{1, 2, 1}));
  EXPECT_EQ(dims.at("w"), (core::Dims{3, 2})) << "a matrix";
  EXPECT_EQ(dims.at("m"), (core::Dims{1, 2}));
  EXPECT_EQ(dims.at("n"), (core::Dims{2, 2}))
      << "one of two constants must have the result's shape";
  EXPECT_EQ(dims.at("z"), (core::Dims{2, 2}));
}

TEST(NarrowConstants, KeepTheShapeOfAResult) {
  const auto graph = narrow_constants(graph_of(R"(graph g
  x: f32[1, 3]
  b: f32[2, 3] = {1, 2, 3, 1, 2, 3}
  y = add(x, b)
  return y
)"));
  EXPECT_EQ(graph.tensor(graph.outputs()[0]).type.shape, (core::Shape{2, 3}));
  EXPECT_EQ(graph.tensor(graph.node(graph.order()[0]).inputs[1]).value->count(), 6);
}

TEST(DecideChoices, LeavesWhatIsChosenEverywhere) {
  const auto original = graph_of(R"(graph g
  x: f32[2, 2]
  z: f32[2]
  t: bool[2] = {1, 1}
  f: bool[2, 1] = {0, 0}
  m: bool[2] = {1, 0}
  a = where(t, x, z)
  b = where(f, z, a)
  c = where(m, b, x)
  d = where(f, x, z)
  y = mul(c, d)
  return y
)");
  const auto choices = decided_choices(original);
  const auto graph = *decide_choices(original, choices);
  EXPECT_EQ(graph.order().size(), 3U) << "what depends on m, what is broadcast, and the product";
  const core::Node& product = graph.node(graph.order().back());
  const core::Node& by_m = graph.node(graph.tensor(product.inputs[0]).producer);
  EXPECT_EQ(by_m.inputs[1], graph.inputs()[0]);
  EXPECT_EQ(by_m.inputs[2], graph.inputs()[0]);
}

TEST(DecideChoices, LeavesThoseThatMayVaryOrAreNotDecided) {
  const auto graph = graph_of(R"(graph g
  x: f32[2]
  z: f32[2]
  t: bool[2] = {1, 1}
  m: bool[2] = {1, 0}
  a = where(t, x, z)
  b = where(m, a, z)
  y = neg(b)
  return y
)");
  EXPECT_EQ(decided_choices(graph).size(), 1U);
  EXPECT_TRUE(decided_choices(graph, [](const core::Literal&) { return true; }).empty());
  const core::NodeId by_m = graph.order()[1];
  EXPECT_FALSE(decide_choices(graph, std::vector{by_m}).has_value());
}

TEST(Simplify, AppliesRulesUntilNoneMatches) {
  const auto rules = rule_set_of(R"(
rule double_negation
  x: [n]
  source
    a = neg(x)
    y = neg(a)
  target
    y = reshape(x; shape=[n])
  checked 2^61-1, 10 sizes; floats: exact
)");
  const auto graph = graph_of(R"(graph g
  x: f32[4]
  a = neg(x)
  b = neg(a)
  c = neg(b)
  y = neg(c)
  return y
)");
  SimplifyReport report;
  verifier::Admission admission(rules, {.allow_unproved = true});
  const auto result = simplify(graph, admission, &report).value();
  EXPECT_GE(report.rules_applied["double_negation"], 1);
  for (const core::NodeId id : result.order()) EXPECT_NE(result.node(id).op->name, "neg");
  verifier::Admission strict(rules);
  EXPECT_EQ(simplify(graph, strict)->hash(), graph.hash()) << "the rule has no proof";
}

/// The baseline of these rules, for a graph of one operator.
core::Result<core::Graph> baseline_of(const std::string& rule_text, const std::string& op) {
  const rules::RuleSet rules(rules::parse_rules(rule_text).value().rules);
  verifier::Admission admission(rules, {.allow_unproved = true});
  return simplify(graph_of("graph g\n  x: f32[4]\n  y = " + op + "(x)\n  return y\n"), admission);
}

TEST(Simplify, RulesThatComeToNoEndAreAnError) {
  const auto grows = baseline_of(R"(rule grows
  x: [n]
  source
    y = relu(x)
  target
    t = relu(x)
    y = relu(t)
)",
                                 "relu");
  ASSERT_FALSE(grows.ok());
  EXPECT_EQ(grows.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_THAT(grows.error().message, testing::HasSubstr("grows still applies"));
  // Neither grows, but each undoes the other.
  const auto circle = baseline_of(R"(rule there
  x: [n]
  source
    y = exp(x)
  target
    y = tanh(x)
rule back
  x: [n]
  source
    y = tanh(x)
  target
    y = exp(x)
)",
                                  "exp");
  ASSERT_FALSE(circle.ok());
  EXPECT_THAT(circle.error().message, testing::HasSubstr("come to no end"));
}

TEST(Simplify, RulesThatLeadSomewhereEnd) {
  const auto replaced = baseline_of(R"(rule replaces
  x: [n]
  source
    y = exp(x)
  target
    y = tanh(x)
)",
                                    "exp");
  ASSERT_TRUE(replaced.ok()) << replaced.error().to_string();
  ASSERT_EQ(replaced->order().size(), 1U);
  EXPECT_EQ(replaced->node(replaced->order()[0]).op->name, "tanh");
}

TEST(FoldConstants, ComputesWhatDependsOnConstantsAlone) {
  core::GraphBuilder builder;
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {2, 3}, true});
  const auto a = builder.add_constant(weights(3, 3, 1));
  const auto b = builder.add_constant(weights(3, 3, 2));
  const auto ab = ops::append(builder, "add", {a, b});
  const auto y = ops::append(builder, "matmul", {x, (*ab)[0]});
  builder.set_outputs({(*y)[0]});
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto backend = runtime::make_reference_backend();
  const auto folded = fold_constants(*graph, *backend);
  ASSERT_TRUE(folded.ok()) << folded.error().to_string();
  ASSERT_EQ(folded->order().size(), 1U);
  const auto& node = folded->node(folded->order()[0]);
  const auto& value = folded->tensor(node.inputs[1]).value;
  ASSERT_TRUE(value);
  EXPECT_FLOAT_EQ(value->as<float>()[0],
                  weights(3, 3, 1)->as<float>()[0] + weights(3, 3, 2)->as<float>()[0]);
}

TEST(FoldConstants, LeavesLargeFullAsItIs) {
  const auto graph = graph_of(R"(graph g
  x: f32[2, 3]
  w = full(; shape=[3, 100000], value=0.5)
  y = matmul(x, w)
  return y
)");
  const auto backend = runtime::make_reference_backend();
  const auto folded = fold_constants(graph, *backend);
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(folded->hash(), graph.hash());
}

/// A row times a weight that is read as it is, or computed from a smaller or shared one.
struct FoldedCase {
  const char* what;
  std::int64_t rows, columns;  ///< Of the constant.
  bool is_read_itself;
  std::string_view op;  ///< Makes the weight of it.
  std::size_t nodes;    ///< That are left.
};

class FoldConstantsBySize : public testing::TestWithParam<FoldedCase> {};

TEST_P(FoldConstantsBySize, FilesDoNotGrow) {
  const FoldedCase& is = GetParam();
  core::GraphBuilder builder;
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {1, 512}, true});
  const auto w = builder.add_constant(weights(is.rows, is.columns, 1));
  core::Attributes attributes;
  if (is.op == "transpose") attributes.set("perm", ops::to_sizes(core::Dims{1, 0}));
  if (is.op == "expand") attributes.set("shape", ops::to_sizes(core::Dims{512, 512}));
  const auto made = *ops::append(builder, is.op, {w}, attributes);
  std::vector<core::TensorId> outputs = {(*ops::append(builder, "matmul", {x, made[0]}))[0]};
  if (is.is_read_itself) outputs.push_back((*ops::append(builder, "matmul", {x, w}))[0]);
  builder.set_outputs(outputs);
  const auto graph = *std::move(builder).finish();
  const auto backend = runtime::make_reference_backend();
  const auto folded = fold_constants(graph, *backend);
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(folded->order().size(), is.nodes) << is.what;
}

INSTANTIATE_TEST_SUITE_P(
    All, FoldConstantsBySize,
    testing::Values(FoldedCase{"another layout", 512, 512, false, "transpose", 1},
                    FoldedCase{"a second layout", 512, 512, true, "transpose", 3},
                    FoldedCase{"a repeated row", 1, 512, false, "expand", 2},
                    FoldedCase{"another value", 512, 512, false, "relu", 1}));

core::LiteralPtr literal(core::Dims dims, std::vector<float> values) {
  return std::make_shared<const core::Literal>(core::Literal::floats(std::move(dims), values));
}

/// `y = matmul(x, w)` or, for a kernel, `conv(x, w)`.
core::Graph with_weight(core::Dims x, core::LiteralPtr weight) {
  core::GraphBuilder builder;
  const bool conv = x.size() == 4;
  core::Shape shape(x.begin(), x.end());
  const auto input = builder.add_input("x", {core::DataType::kFloat32, std::move(shape), true});
  const auto w = builder.add_constant(std::move(weight), "w");
  const auto y = ops::append(builder, conv ? "conv" : "matmul", {input, w}, {}, "y");
  builder.set_outputs({(*y)[0]});
  return std::move(builder).finish().value();
}

TEST(NameConstants, FindsFullAndEye) {
  const auto op_of_weight = [](const core::Graph& graph) -> std::string {
    const core::Graph named = name_constants(graph);
    const auto& last = named.node(named.order().back());
    const auto producer = named.tensor(last.inputs[1]).producer;
    return producer.valid() ? named.node(producer).op->name : "";
  };
  EXPECT_EQ(op_of_weight(with_weight({4, 2}, literal({2, 2}, {1, 0, 0, 1}))), "eye");
  EXPECT_EQ(op_of_weight(with_weight({4, 2}, literal({2, 3}, {1, 0, 0, 0, 1, 0}))), "eye");
  EXPECT_EQ(op_of_weight(with_weight({4, 2}, literal({2, 2}, {0.1F, 0.1F, 0.1F, 0.1F}))), "full");
  EXPECT_EQ(op_of_weight(with_weight({1, 1, 4, 4}, literal({1, 1, 1, 3}, {0, 1, 0}))), "eye");
  EXPECT_EQ(op_of_weight(with_weight({1, 1, 4, 4}, literal({1, 1, 1, 3}, {0, 0, 1}))), "");
  EXPECT_EQ(op_of_weight(with_weight({4, 2}, literal({2, 2}, {1, 0, 0, 2}))), "");
  EXPECT_EQ(op_of_weight(with_weight({4, 2}, literal({2, 2}, {1, -0.0F, 0, 1}))), "");
  EXPECT_EQ(op_of_weight(with_weight({4, 2}, literal({2, 2}, {-0.0F, -0.0F, -0.0F, -0.0F}))), "");
  EXPECT_EQ(op_of_weight(with_weight({4, 1}, literal({1, 1}, {1}))), "") << "a single number";
}

TEST(NameConstants, ComeBackWhenFolded) {
  const auto backend = runtime::make_reference_backend();
  for (const auto& weight : {literal({2, 3}, {1, 0, 0, 0, 1, 0}), literal({2, 2}, {3, 3, 3, 3})}) {
    const core::Graph graph = with_weight({4, 2}, weight);
    const auto folded = fold_constants(merge_duplicates(graph), *backend);
    ASSERT_TRUE(folded.ok());
    EXPECT_EQ(folded->hash(), graph.hash());
    const auto& node = folded->node(folded->order()[0]);
    EXPECT_EQ(*folded->tensor(node.inputs[1]).value, *weight);
    EXPECT_EQ(folded->tensor(node.inputs[1]).name, "w");
  }
}

TEST(NameConstants, MakesRulesAboutThemMatch) {
  const rules::RuleSet rules(rules::parse_rules(R"(
rule matmul_by_eye
  x: [m, n]
  source
    e = eye(; shape=[n, n])
    y = matmul(x, e)
  target
    y = x
rule conv_by_delta
  x: [b, c, h, w]
  source
    e = eye(; shape=[c, c, 1, 1])
    y = conv(x, e)
  target
    y = x
)")
                                 .value()
                                 .rules);
  verifier::Admission admission(rules, {.allow_unproved = true});
  const auto nodes_left = [&](const core::Graph& graph) {
    core::GraphBuilder builder(graph);
    const auto z = ops::append(builder, "relu", {graph.outputs()[0]});
    builder.set_outputs({(*z)[0]});
    return simplify(std::move(builder).finish().value(), admission)->order().size();
  };
  EXPECT_EQ(nodes_left(with_weight({4, 2}, literal({2, 2}, {1, 0, 0, 1}))), 1U);
  EXPECT_EQ(nodes_left(with_weight({1, 2, 5, 5}, literal({2, 2, 1, 1}, {1, 0, 0, 1}))), 1U);
  EXPECT_EQ(nodes_left(with_weight({4, 2}, literal({2, 2}, {0, 1, 1, 0}))), 2U);
}

}  // namespace
}  // namespace soapstone::search
