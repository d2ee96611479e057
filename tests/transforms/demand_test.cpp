// What is computed of tensors of which only pieces are read: which rules are made of it, and that
// each of them holds.
#include "transforms/restrict/demand.h"

#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/demand_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

class DemandRules : public testing::TestWithParam<DemandGraph> {
 protected:
  std::vector<RewriteSequence> plans() const {
    return find_demand(graph_of(demand_graph(GetParam())));
  }
};

TEST_P(DemandRules, AreMade) {
  std::string taken;
  for (const RewriteSequence& plan : plans())
    for (const RewriteStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") +
               name.substr(kDemandPrefix.size(), name.find('[') - kDemandPrefix.size());
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(DemandRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, DemandRules, testing::ValuesIn(kDemandGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Demand, StopsWhereAllIsRead) {
  const auto plans = find_demand(graph_of(R"(graph g
  x: f32[4, 3]
  a = exp(x)
  b = tanh(a)
  y = slice(b; axes=[0], starts=[0], sizes=[1], steps=[1])
  return y, a
)"));
  ASSERT_EQ(plans.size(), 1U);
  ASSERT_EQ(plans[0].steps.size(), 1U);
  EXPECT_EQ(plans[0].steps[0].texts.front().substr(0, 17), "rule part_of_tanh");
}

TEST(Demand, GoesOnWhereAllReadersCutTheSameTensor) {
  const auto plans = find_demand(graph_of(R"(graph g
  x: f32[4, 3]
  a = exp(x)
  b = tanh(a)
  c = add(a, b)
  y = slice(c; axes=[0], starts=[0], sizes=[1], steps=[1])
  return y
)"));
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].steps.size(), 3U);
}

TEST(Demand, IsNoneWhereAllIsRead) {
  EXPECT_THAT(find_demand(graph_of(R"(graph g
  x: f32[4, 3]
  a = exp(x)
  b = slice(a; axes=[0], starts=[0], sizes=[2], steps=[1])
  c = slice(a; axes=[0], starts=[2], sizes=[2], steps=[1])
  p, q = split(a; axis=1, sizes=[1, 2])
  r = mul(p, q)
  d = add(b, c)
  return d, r
)")),
              IsEmpty());
}

TEST(Demand, DoesNotCutWhatMixesPlaces) {
  EXPECT_THAT(find_demand(graph_of(R"(graph g
  x: f32[4, 3]
  a = softmax(x; axis=0)
  y = slice(a; axes=[0], starts=[0], sizes=[1], steps=[1])
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
