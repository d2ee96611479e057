// Constants of sums and products: what is one, and that the rules hold.
#include "rules/contractions/constant_terms.h"

#include "tests/rules/constant_graphs.h"
#include "tests/rules/holds.h"
#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"

namespace soapstone::rules {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ConstantRules : public testing::TestWithParam<ConstantGraph> {};

TEST_P(ConstantRules, AreMadeAndHold) {
  const auto rules = made_rules(find_constant_terms(graph_of(constant_graph(GetParam()))));
  ASSERT_THAT(rules, SizeIs(1));
  expect_rules_hold(rules, 5);
  const core::Graph& target = rules[0].target;
  int steps = 0;
  for (core::TensorId id = target.outputs()[0]; !target.tensor(id).is_input(); ++steps)
    id = target.node(target.tensor(id).producer).inputs[0];
  EXPECT_EQ(steps, GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(All, ConstantRules, testing::ValuesIn(kConstantGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(ConstantTerms, StayWhereTheyAre) {
  // A bias in front of a map, one constant alone, and a sum that others read.
  EXPECT_THAT(find_constant_terms(graph_of(R"(graph g
  x: f32[2, 3, 3]
  b = full(; shape=[2, 1, 1], value=2.0)
  n = full(; shape=[1, 3, 3], value=0.5)
  t = add(x, b)
  u = add(t, n)
  m = relu(u)
  v = add(m, n)
  w = add(v, b)
  return v, w
)")),
              IsEmpty());
}

TEST(ConstantTerms, NeedsATermThatIsAdded) {
  EXPECT_THAT(find_constant_terms(graph_of(R"(graph g
  x: f32[2, 3]
  b = full(; shape=[3], value=2.0)
  n = full(; shape=[2, 3], value=0.5)
  t = sub(n, x)
  y = sub(t, b)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::rules
