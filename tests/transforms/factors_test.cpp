// Factors: which constants take them, and that the rules hold.
#include "transforms/contract/factors.h"

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/factor_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class FactorRules : public testing::TestWithParam<FactorGraph> {};

TEST_P(FactorRules, AreMadeAndHold) {
  const auto rules = made_rules(find_factors(graph_of(factor_graph(GetParam()))));
  ASSERT_THAT(rules, SizeIs(1));
  expect_rules_hold(rules, 5);
}

INSTANTIATE_TEST_SUITE_P(All, FactorRules, testing::ValuesIn(kFactorGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Factors, GoToWeightsRatherThanTables) {
  const auto plans = find_factors(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[2, 4, 4], value=0.5)
  t = full(; shape=[2, 3, 4], value=0.25)
  c = full(; shape=[], value=3.0)
  m = matmul(x, w)
  r = einsum(m, t; equation="abc,abc->bc")
  y = mul(r, c)
  return y
)"));
  const auto rules = made_rules(plans);
  ASSERT_EQ(rules.size(), 1U);
  for (const core::NodeId id : rules[0].target.order()) {
    const core::Node& node = rules[0].target.node(id);
    if (node.op->name == "einsum") {
      EXPECT_TRUE(rules[0].target.tensor(node.inputs[1]).is_input());
    }
  }
}

TEST(Factors, StayWhereSomethingElseReads) {
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 4], value=0.5)
  c = full(; shape=[], value=3.0)
  m = matmul(x, w)
  y = mul(m, c)
  return y, m
)")),
              IsEmpty());
}

TEST(Factors, OfPartsNeedAnAxisOfTheWeights) {
  // Rows of the product are no rows of the weights.
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 4], value=0.5)
  c = full(; shape=[], value=3.0)
  m = matmul(x, w)
  p, q = split(m; axis=0, sizes=[1, 2])
  y = mul(p, c)
  return y, q
)")),
              IsEmpty());
}

TEST(Factors, StayBehindWhatIsNotLinear) {
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 4], value=0.5)
  c = full(; shape=[], value=3.0)
  m = matmul(x, w)
  s = softmax(m; axis=1)
  y = mul(s, c)
  return y
)")),
              IsEmpty());
}

TEST(Factors, StayWhereOneTermHasNoWeights) {
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 4], value=0.5)
  c = full(; shape=[], value=3.0)
  m = matmul(x, w)
  a = add(m, x)
  y = mul(a, c)
  return y
)")),
              IsEmpty());
}

TEST(Factors, ThatAreNegativeStayBehindFunctions) {
  for (const char* const number : {"-3.0", "0.0"})
    EXPECT_THAT(find_factors(graph_of(std::string(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 4], value=0.5)
  c = full(; shape=[], value=)") + number +
                                      R"()
  m = matmul(x, w)
  r = relu(m)
  y = mul(r, c)
  return y
)")),
                IsEmpty())
        << number;
}

TEST(Factors, OfChannelsStayBehindFunctions) {
  // Each would have to be known as positive.
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[3, 4]
  w = full(; shape=[4, 4], value=0.5)
  c = full(; shape=[4], value=3.0)
  m = matmul(x, w)
  r = relu(m)
  y = mul(r, c)
  return y
)")),
              IsEmpty());
}

TEST(Factors, StayWhereNothingUndoesThem) {
  // Constants alone would have to be multiplied by what is computed.
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[3, 5]
  c: f32[3, 1]
  d: f32[3, 1]
  w = full(; shape=[5, 4], value=0.5)
  q = div(x, d)
  m = matmul(q, w)
  y = mul(m, c)
  return y
)")),
              IsEmpty());
}

TEST(Factors, StayWhereRowsAreMixed) {
  // The divisor has another value for each row, over which the product sums.
  EXPECT_THAT(find_factors(graph_of(R"(graph g
  x: f32[4, 4]
  c: f32[4, 1]
  w = full(; shape=[4, 4], value=0.5)
  q = div(x, c)
  m = matmul(w, q)
  y = mul(m, c)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
