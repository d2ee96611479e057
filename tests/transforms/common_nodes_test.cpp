// Nodes that are equal, and batches of products of one matrix: which rules are made, and that they
// hold.
#include "transforms/broadcasts/common_nodes.h"

#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "transforms/contract/flat_batches.h"

namespace soapstone::transforms {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> names_of_steps(const std::vector<RewriteSequence>& plans) {
  std::vector<std::string> names;
  for (const RewriteSequence& plan : plans)
    for (const RewriteStep& step : plan.steps) names.push_back(rule_name(step.texts[0]));
  return names;
}

TEST(CommonNodes, AreThoseOfEqualOperandsToo) {
  const auto plans = find_common_nodes(graph_of(R"(graph g
  x: f32[4, 6]
  z: f32[4, 3]
  a, b = split(x; axis=1, sizes=[3, 3])
  c, d = split(x; axis=1, sizes=[3, 3])
  p = sub(a, z)
  q = sub(c, z)
  r = sub(z, c)
  u = tanh(p)
  v = tanh(q)
  w = tanh(q)
  return u, v, w, r, b, d
)"));
  EXPECT_THAT(
      names_of_steps(plans),
      ElementsAre(StartsWith("common_split"), StartsWith("common_sub"), StartsWith("common_tanh")));
  ASSERT_THAT(plans, SizeIs(3));
  EXPECT_THAT(plans[0].steps[0].results, SizeIs(4));
  EXPECT_THAT(plans[2].steps[0].results, SizeIs(3));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

TEST(CommonNodes, OfConstantsCount) {
  const auto plans = find_common_nodes(graph_of(R"(graph g
  x: f32[4]
  a = full(; shape=[4], value=0.5)
  b = full(; shape=[4], value=0.5)
  c = full(; shape=[4], value=0.25)
  p = mul(x, a)
  q = mul(p, b)
  y = mul(q, c)
  return y
)"));
  EXPECT_THAT(names_of_steps(plans), ElementsAre(StartsWith("common_full")));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

TEST(CommonNodes, DifferByAnAttributeAlone) {
  EXPECT_THAT(find_common_nodes(graph_of(R"(graph g
  x: f32[4, 4]
  a = softmax(x; axis=0)
  b = softmax(x; axis=1)
  return a, b
)")),
              IsEmpty());
}

TEST(FlatBatches, AreMadeWhereOneMatrixHasSeveral) {
  const auto plans = find_flat_batches(graph_of(R"(graph g
  x: f32[6, 4]
  w = full(; shape=[2, 1, 3, 4, 5], value=0.5)
  v = full(; shape=[2, 4, 5], value=0.25)
  u = full(; shape=[1, 1, 4, 5], value=0.125)
  a = matmul(x, w)
  b = matmul(x, v)
  c = matmul(x, u)
  return a, b, c
)"));
  EXPECT_THAT(names_of_steps(plans), SizeIs(2));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

TEST(FlatBatches, AreLeftAloneOrWithOtherSizes) {
  EXPECT_THAT(find_flat_batches(graph_of(R"(graph g
  x: f32[6, 4]
  w = full(; shape=[2, 1, 3, 4, 5], value=0.5)
  v = full(; shape=[2, 3, 4, 6], value=0.25)
  a = matmul(x, w)
  b = matmul(x, v)
  return a, b
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
