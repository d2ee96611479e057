// Sums and means of what is linear: which rules are made of them, and that each of them holds.
#include "rules/demand/averages.h"

#include <string>
#include <vector>

#include "tests/rules/demand_graphs.h"
#include "tests/rules/holds.h"
#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"

namespace soapstone::rules {
namespace {

using testing::IsEmpty;

class AverageRules : public testing::TestWithParam<DemandGraph> {
 protected:
  std::vector<RewritePlan> plans() const {
    return find_averages(graph_of(demand_graph(GetParam())));
  }
};

TEST_P(AverageRules, AreMade) {
  std::string taken;
  for (const RewritePlan& plan : plans())
    for (const PlanStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") +
               name.substr(kAveragesPrefix.size(), name.find('[') - kAveragesPrefix.size());
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(AverageRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, AverageRules, testing::ValuesIn(kAverageGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Averages, AreNotTakenOfWhatIsNotLinear) {
  EXPECT_THAT(find_averages(graph_of(R"(graph g
  x: f32[5, 4]
  w: f32[4, 6]
  a = matmul(x, w)
  b = relu(a)
  y = reduce_mean(b; axes=[0], keep_dims=0)
  return y
)")),
              IsEmpty());
}

TEST(Averages, AreNotTakenWhereEachPlaceIsRead) {
  EXPECT_THAT(find_averages(graph_of(R"(graph g
  x: f32[5, 4]
  w: f32[4, 6]
  a = matmul(x, w)
  m = reduce_mean(a; axes=[0], keep_dims=1)
  y = sub(a, m)
  return y
)")),
              IsEmpty());
}

TEST(Averages, AreNotTakenWhereNoProductIsSaved) {
  EXPECT_THAT(find_averages(graph_of(R"(graph g
  x: f32[5, 4]
  z: f32[5, 4]
  a = add(x, z)
  y = reduce_sum(a; axes=[0], keep_dims=0)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::rules
