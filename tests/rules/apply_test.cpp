// Replacing matches: names, sharing, results that are inputs, cycles, and the function stays.
#include "rules/matching/rewrite.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

constexpr std::string_view kDoubleNegation = R"(
rule double_negation
  x: [n]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)";

TEST(Apply, ReplacesAllResultsAndKeepsTheirNames) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2, 3]
    a: f32[3, 4]
    b: f32[3, 5]
    y = matmul(x, a)
    z = matmul(x, b)
    r = relu(z)
    return y, r)");
  EXPECT_THAT(apply_all(RuleSet(rules_of(kMergeMatmuls)), graph), testing::ElementsAre(R"(graph g
  x: f32[2, 3]
  a: f32[3, 4]
  b: f32[3, 5]
  t0 = concat(a, b; axis=1)
  t1 = matmul(x, t0)
  y, t2 = split(t1; axis=1, sizes=[4, 5])
  r = relu(t2)
  return y, r
)"));
}

TEST(Apply, ReplacesSeveralMatchesLikeOneAfterTheOther) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2, 3]
    a: f32[3, 4]
    b: f32[3, 5]
    y = matmul(x, a)
    z = matmul(x, b)
    s = neg(z)
    t = neg(s)
    u = relu(t)
    return y, u)");
  const RuleSet merge(rules_of(kMergeMatmuls)), negation(rules_of(R"(
rule double_negation_of_matrix
  x: [n, m]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)"));
  std::vector<Rule> both(merge.rules().begin(), merge.rules().end());
  both.insert(both.end(), negation.rules().begin(), negation.rules().end());
  const RuleSet rules(both);
  std::vector<Rewrite> rewrites;
  Graph one_by_one = graph;
  for (const core::RuleId rule : {core::RuleId(1), core::RuleId(0)}) {
    rules.for_each_match(one_by_one, [&](core::RuleId found, const Match& match) {
      if (found == rule) rewrites.push_back({rule, match});
      return found != rule;
    });
    one_by_one = *apply(one_by_one, rules[rule], rewrites.back().match);
  }
  ASSERT_EQ(rewrites.size(), 2U);
  std::vector<RewriteBy> by_rules;
  for (const Rewrite& rewrite : rewrites) by_rules.push_back({rules[rewrite.rule], rewrite.match});
  const auto at_once = apply_all(graph, by_rules);
  ASSERT_TRUE(at_once.ok());
  EXPECT_EQ(print(*at_once), print(one_by_one));
  EXPECT_TRUE(std::ranges::equal(at_once->order(), one_by_one.order()));
  EXPECT_EQ(at_once->tensor_bound(), one_by_one.tensor_bound());
}

TEST(Apply, KeepsInnerNodesThatAreReadElsewhere) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2]
    t = neg(x)
    y = neg(t)
    z = relu(y)
    return z, t)");
  EXPECT_THAT(apply_all(RuleSet(rules_of(kDoubleNegation)), graph), testing::ElementsAre(R"(graph g
  x: f32[2]
  t = neg(x)
  z = relu(x)
  return z, t
)"));
}

TEST(Apply, RefusesToRenameAGraphOutput) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2]
    t = neg(x)
    y = neg(t)
    return y)");
  const RuleSet rules(rules_of(kDoubleNegation));
  const auto found = all_matches(rules, graph);
  ASSERT_EQ(found.size(), 1u);
  auto result = apply(graph, rules[found[0].rule], found[0].match);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, testing::HasSubstr("name"));
}

TEST(Apply, RefusesCycles) {
  const Graph graph = graph_of(R"(graph g
    x: f32[3, 3]
    a: f32[3, 3]
    y = matmul(x, a)
    z = matmul(x, y)
    return z)");
  const RuleSet rules(rules_of(kMergeMatmuls));
  const auto found = all_matches(rules, graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(closes_cycle(graph, rules[found[0].rule], found[0].match));
  EXPECT_FALSE(apply(graph, rules[found[0].rule], found[0].match).ok());
}

TEST(Apply, SeesThatNoCycleArises) {
  const Graph graph = graph_of(R"(graph g
    x: f32[3, 3]
    a: f32[3, 3]
    y = matmul(x, a)
    r = relu(y)
    z = matmul(x, a)
    s = add(z, r)
    return s)");
  const RuleSet rules(rules_of(kMergeMatmuls));
  for (const FoundMatch& found : all_matches(rules, graph))
    EXPECT_FALSE(closes_cycle(graph, rules[found.rule], found.match));
}

TEST(Apply, PutsNumbersIntoAttributesOfTheTarget) {
  const Graph graph = graph_of(R"(graph g
    x: f32[1, 2, 6, 7]
    w: f32[3, 2, 1, 1]
    y = conv(x, w; strides=[2, 1], pads=[0, 1, 2, 0])
    return y)");
  const RuleSet rules(rules_of(R"(
rule enlarge_kernel
  x: [n, c, h, w]   a: [o, c, 1, 1]
  source
    y = conv(x, a; strides=[s, t], pads=[i, j, k, l])
  target
    b = enlarge(a; kernel=[3, 3])
    y = conv(x, b; strides=[s, t], pads=[i+1, j+1, k+1, l+1])
)"));
  EXPECT_THAT(apply_all(rules, graph),
              testing::ElementsAre(testing::HasSubstr("pads=[1, 2, 3, 1], strides=[2, 1]")));
}

TEST(Apply, TurnsRealParametersIntoConstants) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2, 3]
    s: f32[3]
    b: f32[3]
    m: f32[3]
    v: f32[3]
    y = batch_norm(x, s, b, m, v; epsilon=0.125)
    return y)");
  const RuleSet rules(rules_of(R"(
rule batch_norm_as_affine
  x: [n, c]   s: [c]   b: [c]   m: [c]   v: [c]
  source
    y = batch_norm(x, s, b, m, v; epsilon=e)
  target
    eps = full(; shape=[], value=e)
    ve = add(v, eps)
    d = sqrt(ve)
    g = div(s, d)
    xm = sub(x, m)
    xs = mul(xm, g)
    y = add(xs, b)
)"));
  EXPECT_THAT(apply_all(rules, graph), testing::ElementsAre(testing::HasSubstr("value=0.125")));
}

TEST(Apply, RefusesSizesThatDoNotFit) {
  const Graph graph = graph_of(R"(graph g
    x: f32[4]
    y = neg(x)
    return y)");
  std::vector<Rule> rules = rules_of(R"(
rule in_two_rows
  x: [n]
  where n = 6
  source
    y = neg(x)
  target
    r = reshape(x; shape=[2, 3])
    t = neg(r)
    y = reshape(t; shape=[n])
)");
  rules[0].guard.clear();
  const RuleSet set(rules);
  const auto found = all_matches(set, graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(apply(graph, set[found[0].rule], found[0].match).ok());
}

TEST(Apply, SharesOneTensorForTwoResults) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2]
    a = tanh(x)
    b = tanh(x)
    c = add(a, b)
    return c)");
  const RuleSet rules(rules_of(R"(
rule common
  x: [n]
  source
    y = tanh(x)
    z = tanh(x)
  target
    y = tanh(x)
    z = y
)"));
  EXPECT_THAT(apply_all(rules, graph), testing::ElementsAre(testing::HasSubstr("c = add(t0, t0)")));
}

}  // namespace
}  // namespace soapstone::rules
