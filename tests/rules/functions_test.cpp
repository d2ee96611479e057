// `for f in functions`, and families for as many siblings as a model has.
#include "rules/expansion/functions.h"

#include <gmock/gmock.h>

#include "rules/matching/sibling_numbers.h"
#include "rules/rule/rule.h"
#include "tests/support/graphs.h"

namespace soapstone::rules {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

TEST(Functions, HaveTheirRealsOpen) {
  const auto calls = calls_of_functions("f", false);
  EXPECT_THAT(calls, IsSupersetOf({"relu()", "clip(min=f_min, max=f_max)", "log()",
                                   "gelu(approximate=\"none\")", "gelu(approximate=\"tanh\")"}));
  EXPECT_THAT(calls, Not(Contains(HasSubstr("not("))));
  EXPECT_THAT(calls, Not(Contains(HasSubstr("cast("))));
  EXPECT_EQ(calls.size(), 23u) << testing::PrintToString(calls);
}

TEST(Functions, TotalOnesHaveAValueEverywhere) {
  const auto calls = calls_of_functions("f", true);
  EXPECT_THAT(calls, Contains("tanh()"));
  EXPECT_THAT(calls, Not(Contains("log()")));
  EXPECT_THAT(calls, Not(Contains("sqrt()")));
  EXPECT_THAT(calls, Not(Contains("reciprocal()")));
}

TEST(Functions, StandBeforeABracket) {
  EXPECT_EQ(*with_calls("y = f(x)", "f", "relu()"), "y = relu(x)");
  EXPECT_EQ(*with_calls("y = f(x)", "f", "clip(min=f_min)"), "y = clip(x; min=f_min)");
  EXPECT_FALSE(with_calls("y = f", "f", "relu()").ok());
}

constexpr const char* kFamily = R"(
rule many
  for N in siblings(2..64)
  for f in functions
  x: [s, m]
  source
    x{1..N} = split(x; axis=0, sizes=[n{1..N}])
    each i in 1..N  y{i} = f(x{i})
  target
    y = f(x)
    y{1..N} = split(y; axis=0, sizes=[n{1..N}])
)";

TEST(Siblings, FamiliesHaveMembersForAnyNumber) {
  const auto apart = parse_rules(kFamily, {}, RuleReading::kAsWritten);
  ASSERT_TRUE(apart.ok());
  EXPECT_TRUE(apart->rules.empty());
  ASSERT_EQ(apart->written.size(), 1u);
  const auto members = instances_of(apart->written, {{3, 7}});
  ASSERT_TRUE(members.ok());
  for (const Rule& rule : *members) {
    const bool is_seven = rule.name.find("N=7") != std::string::npos;
    EXPECT_EQ(rule.is_proved_on_demand, is_seven) << rule.name;
    EXPECT_EQ(rule.source.outputs().size(), is_seven ? 7u : 3u);
  }
}

TEST(Siblings, AreCountedInAGraph) {
  const Graph graph = graph_of(R"(graph g
  x: f32[2, 8]
  a: f32[8, 4]
  p, q, r, s, t = split(x; axis=1, sizes=[1, 1, 2, 2, 2])
  u = add(r, s)
  v = add(u, t)
  y = matmul(x, a)
  z = concat(p, q, v, y, x, p, q; axis=1)
  return z
)");
  EXPECT_THAT(sibling_numbers(graph), ElementsAre(2, 3, 4, 5, 7));
}

}  // namespace
}  // namespace soapstone::rules
