// Products of which parts are read: which rules separate them, and that each of these holds.
#include "transforms/restrict/separation.h"

#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/demand_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

class SeparationRules : public testing::TestWithParam<DemandGraph> {
 protected:
  std::vector<RewriteSequence> plans() const {
    return find_separation(graph_of(demand_graph(GetParam())));
  }
};

TEST_P(SeparationRules, AreMade) {
  std::string taken;
  for (const RewriteSequence& plan : plans())
    for (const RewriteStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") +
               name.substr(kSeparationPrefix.size(), name.find('[') - kSeparationPrefix.size());
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(SeparationRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, SeparationRules, testing::ValuesIn(kSeparationGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Separation, HasOneRuleForAllPlacesThatAreAlike) {
  const auto plans = find_separation(graph_of(R"(graph g
  x: f32[3, 4]
  z: f32[3, 4]
  w = full(; shape=[4, 8], value=0.5)
  a = matmul(x, w)
  p, q = split(a; axis=1, sizes=[4, 4])
  b = matmul(z, w)
  r, s = split(b; axis=1, sizes=[4, 4])
  t = tanh(p)
  u = tanh(r)
  return t, q, u, s
)"));
  ASSERT_THAT(plans, testing::SizeIs(2));
  EXPECT_EQ(plans[0].steps[0].texts, plans[1].steps[0].texts);
}

TEST(Separation, IsNoneWhereNothingIsDoneToAPart) {
  EXPECT_THAT(find_separation(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 8], value=0.5)
  a = matmul(x, w)
  p, q = split(a; axis=1, sizes=[4, 4])
  t = transpose(q; perm=[1, 0])
  y = matmul(p, t)
  return y
)")),
              IsEmpty());
}

TEST(Separation, IsNoneWhereAllIsReadAsWell) {
  EXPECT_THAT(find_separation(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 8], value=0.5)
  a = matmul(x, w)
  p, q = split(a; axis=1, sizes=[4, 4])
  u = tanh(p)
  return u, q, a
)")),
              IsEmpty());
}

TEST(Separation, IsNoneWhereAnInputIsDivided) {
  EXPECT_THAT(find_separation(graph_of(R"(graph g
  x: f32[3, 8]
  a = exp(x)
  p, q = split(a; axis=1, sizes=[4, 4])
  u = tanh(p)
  y = mul(u, q)
  return y
)")),
              IsEmpty());
}

TEST(Separation, IsNoneWhereAnOperatorMixesTheParts) {
  EXPECT_THAT(find_separation(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 8], value=0.5)
  a = matmul(x, w)
  s = softmax(a; axis=1)
  p, q = split(s; axis=1, sizes=[4, 4])
  u = tanh(p)
  y = mul(u, q)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
