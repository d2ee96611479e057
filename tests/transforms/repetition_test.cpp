// What is done to tensors that repeat smaller ones: which rules are made of it, and that each of
// them holds.
#include "transforms/broadcasts/repetition.h"

#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/repetition_graphs.h"
#include "transforms/broadcasts/carried_axes.h"

namespace soapstone::transforms {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

class RepetitionRules : public testing::TestWithParam<RepetitionGraph> {
 protected:
  std::vector<RewriteSequence> plans() const {
    return find_repetition(graph_of(repetition_graph(GetParam())));
  }
};

TEST_P(RepetitionRules, AreMade) {
  std::string taken;
  for (const RewriteSequence& plan : plans())
    for (const RewriteStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") +
               name.substr(kRepetitionPrefix.size(), name.find('[') - kRepetitionPrefix.size());
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(RepetitionRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, RepetitionRules, testing::ValuesIn(kRepetitionGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Repetition, IsNoneWhereNothingIsRepeated) {
  EXPECT_THAT(find_repetition(graph_of(R"(graph g
  x: f32[6, 4]
  i: i64[3]
  w = full(; shape=[8, 5], value=0.5)
  r = gather(x, i; axis=0)
  s = tanh(r)
  c = concat(r, s; axis=1)
  y = matmul(c, w)
  return y
)")),
              IsEmpty());
}

TEST(Repetition, StopsWherePlacesAreMixed) {
  EXPECT_THAT(find_repetition(graph_of(R"(graph g
  x: f32[2, 1, 4]
  a = expand(x; shape=[2, 3, 4])
  y = softmax(a; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(CarriedAxes, AreReadOffComprehensions) {
  const core::Graph graph = graph_of(R"(graph g
  x: f32[2, 3, 4]
  w: f32[4, 5]
  a = matmul(x, w)
  b = transpose(a; perm=[0, 2, 1])
  y = softmax(b; axis=2)
  return y
)");
  const auto node = [&](std::size_t k) -> const core::Node& {
    return graph.node(graph.order()[k]);
  };
  const auto operands = [&](std::size_t k, std::size_t axis) {
    const auto carried = carried_axis(graph, node(k), axis);
    return carried ? carried->operands : std::vector<std::optional<std::size_t>>();
  };
  EXPECT_THAT(operands(0, 1), ElementsAre(Optional(1U), std::nullopt));
  EXPECT_THAT(operands(0, 2), ElementsAre(std::nullopt, Optional(1U)));
  EXPECT_THAT(operands(1, 1), ElementsAre(Optional(2U)));
  EXPECT_THAT(operands(2, 1), ElementsAre(Optional(1U)));
  EXPECT_THAT(operands(2, 2), IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
