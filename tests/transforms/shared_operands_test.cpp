// Products that read what is repeated for them: which rules are made, and that they hold.
#include "transforms/contract/shared_operands.h"

#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/contraction_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SharedRules : public testing::TestWithParam<ProductGraph> {};

TEST_P(SharedRules, AreMadeAndHold) {
  const auto plans = find_shared_operands(graph_of(product_graph(GetParam())));
  ASSERT_THAT(plans, SizeIs(1));
  const auto rules = made_rules(plans);
  ASSERT_THAT(rules, SizeIs(1));
  expect_rules_hold(rules, 5);
  int products = 0;
  for (const core::NodeId id : rules[0].target.order()) {
    const core::Movement movement = rules[0].target.node(id).op->movement;
    EXPECT_TRUE(movement == core::Movement::kNone || movement == core::Movement::kReshape);
    products += movement == core::Movement::kNone;
  }
  EXPECT_EQ(products, GetParam().products) << print(rules[0]);
}

INSTANTIATE_TEST_SUITE_P(All, SharedRules, testing::ValuesIn(kSharedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(SharedOperands, AreLeftWhereARepetitionIsSummed) {
  EXPECT_THAT(find_shared_operands(graph_of(R"(graph g
  a: f32[5, 6]
  v: f32[3, 1, 4]
  e = expand(v; shape=[3, 2, 4])
  h = reshape(e; shape=[6, 4])
  y = matmul(a, h)
  return y
)")),
              IsEmpty());
}

TEST(SharedOperands, AreLeftWhereARepetitionIsTheResults) {
  EXPECT_THAT(find_shared_operands(graph_of(R"(graph g
  a: f32[5, 4]
  v: f32[4, 3, 1]
  e = expand(v; shape=[4, 3, 2])
  h = reshape(e; shape=[4, 6])
  y = matmul(a, h)
  return y
)")),
              IsEmpty());
}

TEST(SharedOperands, AreLeftToBroadcasting) {
  EXPECT_THAT(find_shared_operands(graph_of(R"(graph g
  a: f32[6, 5, 4]
  v: f32[1, 4, 3]
  e = expand(v; shape=[6, 4, 3])
  y = matmul(a, e)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
