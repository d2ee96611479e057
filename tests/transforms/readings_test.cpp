// Sums of what is linear, and chosen rows: which rules are made of them, and that each of them
// holds.
#include "transforms/restrict/readings.h"

#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/demand_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

class ReadingRules : public testing::TestWithParam<DemandGraph> {
 protected:
  std::vector<RewriteSequence> plans() const {
    return find_readings(graph_of(demand_graph(GetParam())));
  }
};

TEST_P(ReadingRules, AreMade) {
  std::string taken;
  for (const RewriteSequence& plan : plans())
    for (const RewriteStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") + name.substr(0, name.find('['));
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(ReadingRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, ReadingRules, testing::ValuesIn(kReadingGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Readings, AreNotTakenOfWhatIsNotLinear) {
  EXPECT_THAT(find_readings(graph_of(R"(graph g
  x: f32[5, 4]
  w: f32[4, 6]
  a = matmul(x, w)
  b = relu(a)
  y = reduce_mean(b; axes=[0], keep_dims=0)
  return y
)")),
              IsEmpty());
}

TEST(Readings, AreNotTakenWhereEachPlaceIsRead) {
  EXPECT_THAT(find_readings(graph_of(R"(graph g
  x: f32[5, 4]
  w: f32[4, 6]
  a = matmul(x, w)
  m = reduce_mean(a; axes=[0], keep_dims=1)
  y = sub(a, m)
  return y
)")),
              IsEmpty());
}

TEST(Readings, AreNotTakenWhereNoProductIsSaved) {
  EXPECT_THAT(find_readings(graph_of(R"(graph g
  x: f32[5, 4]
  z: f32[5, 4]
  a = add(x, z)
  y = reduce_sum(a; axes=[0], keep_dims=0)
  return y
)")),
              IsEmpty());
}

TEST(Readings, AreNotTakenWhereRowsAreChosenOften) {
  EXPECT_THAT(find_readings(graph_of(R"(graph g
  x: f32[5, 4]
  w: f32[4, 6]
  i: i64[7]
  a = matmul(x, w)
  y = gather(a, i; axis=0)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
