// Finders of single plans: what they find, that their rules hold, and where there is nothing.
#include "tests/transforms/planned_graphs.h"

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

class PlannedRules : public testing::TestWithParam<PlannedGraph> {};

TEST_P(PlannedRules, AreMadeAndHold) {
  const auto plans = GetParam().find(graph_of(planned_graph(GetParam())));
  ASSERT_EQ(plans.empty(), GetParam().steps.empty());
  if (plans.empty()) return;
  EXPECT_EQ(steps_of(plans[0]), GetParam().steps);
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

INSTANTIATE_TEST_SUITE_P(All, PlannedRules, testing::ValuesIn(kPlannedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

/// Each operand of a product may be filled in several ways, and is the next one's operand.
TEST(PassingParts, AreLookedForABoundedNumberOfTimes) {
  std::string nodes;
  for (int k = 0; k < 40; ++k) nodes += fmt::format("  h{1} = mul(h{0}, h{0})\n", k, k + 1);
  EXPECT_THAT(find_passing_parts(graph_of(
                  fmt::format("graph chain\n  x: f32[4, 6]\n  h0: f32[4, 3]\n"
                              "  p, q = split(x; axis=1, sizes=[3, 3])\n{}  r = add(q, h40)\n"
                              "  y = concat(p, r; axis=1)\n  return y\n",
                              nodes))),
              testing::IsEmpty());
}

/// A tensor of two dimensions has no places that could be mirrored.
TEST(Mirrors, EndWhereTheirDimensionsEnd) {
  EXPECT_THAT(find_mirrors(graph_of(R"(graph flat
  x: f32[1, 2, 4, 4]
  t = transpose(x; perm=[0, 1, 3, 2])
  r = reshape(t; shape=[8, 4])
  y = reduce_sum(r; axes=[0])
  return y
)")),
              testing::IsEmpty());
}

TEST(Mirrors, OfAllTensorsAreOnePlanToo) {
  // Each alone meets the other one in the sum.
  const auto plans = find_mirrors(graph_of(R"(graph two
  x: f32[1, 2, 4, 4]
  z: f32[1, 2, 4, 4]
  a = slice(x; axes=[3], sizes=[4], starts=[3], steps=[-1])
  b = slice(z; axes=[3], sizes=[4], starts=[3], steps=[-1])
  s = add(a, b)
  y = slice(s; axes=[3], sizes=[4], starts=[3], steps=[-1])
  return y
)"));
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(steps_of(plans[0]), "add slice");
}

}  // namespace
}  // namespace soapstone::transforms
