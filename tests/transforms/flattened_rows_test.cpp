// What is done to rows goes in front of reshapes: which rules are made, and that each of these
// holds.
#include "transforms/broadcasts/flattened_rows.h"

#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/repetition_graphs.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

class FlattenedRules : public testing::TestWithParam<RepetitionGraph> {
 protected:
  std::vector<RewriteSequence> plans() const {
    return find_flattened_rows(graph_of(repetition_graph(GetParam())));
  }
};

TEST_P(FlattenedRules, AreMade) {
  std::string taken;
  for (const RewriteSequence& plan : plans())
    for (const RewriteStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") +
               name.substr(kRowsPrefix.size(), name.find('[') - kRowsPrefix.size());
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(FlattenedRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, FlattenedRules, testing::ValuesIn(kFlattenedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(FlattenedRows, AreLeftWhereNothingIsRepeated) {
  EXPECT_THAT(find_flattened_rows(graph_of(R"(graph g
  x: f32[2, 6, 4]
  w = full(; shape=[4, 5], value=0.5)
  a = reshape(x; shape=[12, 4])
  y = matmul(a, w)
  return y
)")),
              IsEmpty());
}

TEST(FlattenedRows, AreLeftWhereTheReshapeDividesColumns) {
  EXPECT_THAT(find_flattened_rows(graph_of(R"(graph g
  x: f32[2, 1, 4]
  w = full(; shape=[2, 5], value=0.5)
  u = expand(x; shape=[2, 3, 4])
  a = reshape(u; shape=[2, 6, 2])
  y = matmul(a, w)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
