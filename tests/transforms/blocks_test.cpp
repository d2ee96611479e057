// Towers side by side: what becomes one wide tower, and that each rule made for it holds.
#include "transforms/pack/blocks.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/block_graphs.h"
#include "tests/transforms/holds.h"
#include "transforms/base/independence.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::Not;

class BlockRules : public testing::TestWithParam<BlockGraph> {};

TEST_P(BlockRules, AreMadeAndHold) {
  const auto plans = find_blocks(graph_of(block_graph(GetParam())));
  ASSERT_THAT(plans, Not(IsEmpty()));
  EXPECT_EQ(steps_of(plans[0]), GetParam().steps);
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

INSTANTIATE_TEST_SUITE_P(All, BlockRules, testing::ValuesIn(kBlockGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Blocks, ThatAreSummedOverMayRoundInAnotherWay) {
  const auto plans = find_blocks(graph_of(block_graph(kBlockGraphs[1])));
  ASSERT_EQ(plans[0].steps.size(), 3U);
  EXPECT_EQ(plans[0].steps[0].floats, FloatBehavior::kExact);
  EXPECT_EQ(plans[0].steps[2].floats, FloatBehavior::kReassociates);
}

TEST(Blocks, StayWholeWhereUnlikeProductsReadThem) {
  const auto plans = find_blocks(graph_of(R"(graph heads
  x: f32[6, 4]
  w1 = full(; shape=[4, 3], value=0.5)
  w2 = full(; shape=[4, 2], value=0.25)
  v1 = full(; shape=[3, 5], value=0.5)
  v2 = full(; shape=[2, 1], value=0.25)
  p1 = matmul(x, w1)
  p2 = matmul(x, w2)
  r1 = relu(p1)
  r2 = relu(p2)
  m1 = matmul(r1, v1)
  m2 = matmul(r2, v2)
  y1 = tanh(m1)
  y2 = exp(m2)
  return y1, y2
)"));
  // Products side by side, and products that read all of what they read a part of.
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(steps_of(plans[0]), "matmul relu matmul");
  EXPECT_EQ(steps_of(plans[1]), "matmul relu matmul matmul");
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

TEST(Blocks, DoTheSame) {
  const auto plans_of = [](std::string_view nodes) {
    return find_blocks(graph_of(fmt::format("graph g\n  x: f32[6, 4]\n"
                                            "  w1 = full(; shape=[4, 3], value=0.5)\n"
                                            "  w2 = full(; shape=[4, 2], value=0.25)\n"
                                            "  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n{}",
                                            nodes)));
  };
  const std::string_view end = "  return y1, y2\n";
  EXPECT_EQ(steps_of(plans_of(fmt::format("  y1 = relu(p1)\n  y2 = relu(p2)\n{}", end))[0]),
            "matmul relu");
  // Another operator, another attribute, or a function of all features.
  EXPECT_EQ(steps_of(plans_of(fmt::format("  y1 = relu(p1)\n  y2 = exp(p2)\n{}", end))[0]),
            "matmul");
  EXPECT_EQ(steps_of(plans_of(fmt::format("  y1 = leaky_relu(p1; alpha=0.5)\n"
                                          "  y2 = leaky_relu(p2; alpha=0.25)\n{}",
                                          end))[0]),
            "matmul");
  EXPECT_EQ(steps_of(plans_of(
                fmt::format("  y1 = softmax(p1; axis=1)\n  y2 = softmax(p2; axis=1)\n{}", end))[0]),
            "matmul");
}

TEST(Blocks, AreNoStepsOfARecurrence) {
  EXPECT_THAT(find_blocks(graph_of(R"(graph recurrence
  x: f32[2, 3]
  w = full(; shape=[3, 3], value=0.5)
  a = matmul(x, w)
  b = matmul(a, w)
  y = concat(a, b; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(Blocks, HaveConstantWeights) {
  EXPECT_THAT(find_blocks(graph_of(R"(graph scores
  q: f32[6, 4]
  r: f32[6, 2]
  k: f32[4, 3]
  l: f32[2, 5]
  a = matmul(q, k)
  b = matmul(r, l)
  y = concat(a, b; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(Blocks, AreCutWhereSomethingElseReadsAPart) {
  EXPECT_THAT(find_blocks(graph_of(R"(graph cut
  x: f32[6, 9]
  a, b = split(x; axis=1, sizes=[4, 5])
  w = full(; shape=[4, 3], value=0.5)
  y = matmul(a, w)
  z = relu(b)
  return y, z
)")),
              IsEmpty());
}

TEST(Independence, IsSeenThroughOthers) {
  const Graph graph = graph_of(R"(graph g
  x: f32[2]
  a = relu(x)
  b = exp(a)
  c = neg(x)
  d = add(b, c)
  return d
)");
  const auto order = graph.order();
  const Independence independence(graph);
  EXPECT_TRUE(independence.holds({order[1], order[2]}));
  EXPECT_FALSE(independence.holds({order[0], order[3]}));
}

}  // namespace
}  // namespace soapstone::transforms
