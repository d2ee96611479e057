#include "search/simplify.h"

#include "runtime/executor.h"
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

TEST(Simplify, AppliesRulesUntilNoneMatches) {
  const auto rules = rules_of(R"(
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
  const auto result = simplify(graph, admission, &report);
  EXPECT_GE(report.rules_applied["double_negation"], 1);
  for (const core::NodeId id : result.order()) EXPECT_NE(result.node(id).op->name, "neg");
  verifier::Admission strict(rules);
  EXPECT_EQ(simplify(graph, strict).hash(), graph.hash()) << "the rule has no proof";
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

TEST(FoldConstants, LeavesFullAsItIs) {
  const auto graph = graph_of(R"(graph g
  x: f32[2, 3]
  w = full(; shape=[3, 1000], value=0.5)
  y = matmul(x, w)
  return y
)");
  const auto backend = runtime::make_reference_backend();
  const auto folded = fold_constants(graph, *backend);
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(folded->hash(), graph.hash());
}

}  // namespace
}  // namespace soapstone::search
