// Products with inverses: which become quotients, and that the rules hold.
#include "transforms/contract/quotients.h"

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/quotient_graphs.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class QuotientRules : public testing::TestWithParam<QuotientGraph> {};

TEST_P(QuotientRules, AreMadeAndHold) {
  const auto plans = find_quotients(graph_of(quotient_graph(GetParam())));
  ASSERT_THAT(plans, SizeIs(1)) << "the inverse goes when all its readers do";
  const auto rules = made_rules(plans);
  ASSERT_THAT(rules, SizeIs(GetParam().quotients));
  expect_rules_hold(rules, 5);
}

INSTANTIATE_TEST_SUITE_P(All, QuotientRules, testing::ValuesIn(kQuotientGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(Quotients, NeedAllReadersToBeProducts) {
  for (const char* const reader : {"add(x, r)", "mul(r, r)", "div(x, r)"})
    EXPECT_THAT(find_quotients(graph_of(std::string(R"(graph g
  x: f32[2, 3]
  d: f32[2, 1]
  r = reciprocal(d)
  y = mul(x, r)
  z = )") + reader + "\n  return y, z\n")),
                IsEmpty())
        << reader;
}

TEST(Quotients, AreNoneWhereTheInverseIsAResult) {
  EXPECT_THAT(find_quotients(graph_of(R"(graph g
  x: f32[2, 3]
  d: f32[2, 1]
  r = reciprocal(d)
  y = mul(x, r)
  return y, r
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
