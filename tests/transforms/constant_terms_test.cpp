// Constants of sums and products: what is one, and that the rules hold.
#include "transforms/contract/constant_terms.h"

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/constant_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

class ConstantRules : public testing::TestWithParam<ConstantGraph> {};

TEST_P(ConstantRules, AreMadeAndHold) {
  const auto plans = find_constant_terms(graph_of(constant_graph(GetParam())));
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  std::vector<int> steps;
  for (const Rule& rule : rules) {
    int count = 0;
    for (core::TensorId id = rule.target.outputs()[0]; !rule.target.tensor(id).is_input(); ++count)
      id = rule.target.node(rule.target.tensor(id).producer).inputs[0];
    steps.push_back(count);
  }
  EXPECT_EQ(steps, GetParam().steps);
  for (std::size_t k = 0; k < plans.size(); ++k) EXPECT_EQ(plans[k].is_alternative, k > 0);
}

INSTANTIATE_TEST_SUITE_P(All, ConstantRules, testing::ValuesIn(kConstantGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(ConstantTerms, StayWhereTheyAre) {
  // A bias in front of a map that is large, one constant alone, and a sum that others read.
  EXPECT_THAT(find_constant_terms(graph_of(R"(graph g
  x: f32[2, 300, 300]
  b = full(; shape=[2, 1, 1], value=2.0)
  n = full(; shape=[1, 300, 300], value=0.5)
  t = add(x, b)
  u = add(t, n)
  m = relu(u)
  v = add(m, n)
  w = add(v, b)
  return v, w
)")),
              IsEmpty());
}

TEST(ConstantTerms, StayBehindAProduct) {
  EXPECT_THAT(find_constant_terms(graph_of(R"(graph g
  x: f32[2, 3]
  z: f32[2, 4]
  v = full(; shape=[3, 4], value=0.25)
  b = full(; shape=[4], value=0.5)
  m = matmul(x, v)
  t = add(m, b)
  y = add(t, z)
  return y
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
}  // namespace soapstone::transforms
