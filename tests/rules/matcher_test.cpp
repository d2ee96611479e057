// The places where rules match: sizes, attributes, constants, commutativity, symmetry, sharing.
#include <algorithm>
#include <bit>

#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

TEST(Matcher, BindsSizesAndTensors) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2, 3]
    a: f32[3, 4]
    b: f32[3, 5]
    y = matmul(x, a)
    z = matmul(x, b)
    return y, z)");
  const RuleSet rules(rules_of(kMergeMatmuls));
  const auto found = all_matches(rules, graph);
  ASSERT_EQ(found.size(), 1u) << "the two matmuls may be exchanged, which counts once";
  EXPECT_THAT(found[0].match.inputs, testing::ElementsAreArray(graph.inputs()));
  EXPECT_THAT(found[0].match.outputs, testing::ElementsAreArray(graph.outputs()));
  EXPECT_THAT(found[0].match.sizes, testing::ElementsAre(2, 3, 4, 5));
}

TEST(Matcher, LeavesEmptyTensorsAlone) {
  EXPECT_TRUE(all_matches(kMergeMatmuls, R"(graph g
    x: f32[2, 0]
    a: f32[0, 4]
    b: f32[0, 5]
    y = matmul(x, a)
    z = matmul(x, b)
    return y, z)")
                  .empty());
}

/// Of many siblings not all subsets match, but runs of neighbors, for the largest instance alone.
TEST(Matcher, ManySiblingsMatchInRuns) {
  constexpr std::string_view kMerge = R"(
rule merge
  for N in {2, 8, 16}
  x: [m, k]
  each i in 1..N  w{i}: [k, n{i}]
  source
    each i in 1..N  y{i} = matmul(x, w{i})
  target
    w = concat(w{1..N}; axis=1)
    y = matmul(x, w)
    y{1..N} = split(y; axis=1, sizes=[n{1..N}])
)";
  const auto matches = [&](int count) {
    std::string head = "graph g\n x: f32[2, 3]\n", body, results;
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      head += " w" + n + ": f32[3, 4]\n";
      body += " y" + n + " = matmul(x, w" + n + ")\n";
      results += (i == 0 ? " return y" : ", y") + n;
    }
    return all_matches(kMerge, head + body + results).size();
  };
  EXPECT_EQ(matches(4), 6U) << "of few all pairs";
  EXPECT_EQ(matches(12), 5U) << "eight neighbors of twelve";
  EXPECT_EQ(matches(16), 1U) << "all at once";
}

TEST(Matcher, NeedsDistinctNodes) {
  EXPECT_TRUE(all_matches(kMergeMatmuls, R"(graph g
    x: f32[2, 3]
    a: f32[3, 4]
    y = matmul(x, a)
    return y)")
                  .empty());
}

TEST(Matcher, ThreeWayMergeMatchesEachTripleOnce) {
  EXPECT_EQ(all_matches(R"(
rule merge_three
  x: [m, k]   a: [k, n]   b: [k, p]   c: [k, q]
  source
    u = matmul(x, a)
    v = matmul(x, b)
    w = matmul(x, c)
  target
    abc = concat(a, b, c; axis=1)
    y = matmul(x, abc)
    u, v, w = split(y; axis=1, sizes=[n, p, q])
)",
                        R"(graph g
    x: f32[2, 3]
    a: f32[3, 4]
    b: f32[3, 5]
    c: f32[3, 6]
    d: f32[3, 7]
    p = matmul(x, a)
    q = matmul(x, b)
    r = matmul(x, c)
    s = matmul(x, d)
    return p, q, r, s)")
                .size(),
            4u);
}

TEST(Matcher, TriesBothOrdersOfCommutativeOperators) {
  constexpr std::string_view kRule = R"(
rule add_relu
  x: [n]   z: [n]
  source
    r = relu(x)
    y = add(r, z)
  target
    r2 = relu(x)
    y = add(z, r2)
)";
  EXPECT_EQ(all_matches(kRule, R"(graph g
    x: f32[4]
    z: f32[4]
    r = relu(x)
    y = add(z, r)
    return y)")
                .size(),
            1u);
  EXPECT_EQ(all_matches(kRule, R"(graph g
    x: f32[4]
    z: f32[4]
    r = relu(x)
    s = relu(z)
    y = add(s, r)
    return y)")
                .size(),
            2u);
}

TEST(Matcher, KeepsVariantsThatGiveDifferentTargets) {
  constexpr std::string_view kAssociate = R"(
rule associate
  x: [n]  y: [n]  z: [n]
  source
    t = add(x, y)
    r = add(t, z)
  target
    u = add(y, z)
    r = add(x, u)
)";
  EXPECT_EQ(all_matches(kAssociate, R"(graph g
    x: f32[4]
    y: f32[4]
    z: f32[4]
    t = add(x, y)
    r = add(t, z)
    return r)")
                .size(),
            2u);
  EXPECT_EQ(all_matches(kAssociate, R"(graph g
    x: f32[4]
    z: f32[4]
    t = add(x, x)
    r = add(t, z)
    return r)")
                .size(),
            1u)
      << "exchanging x with itself changes nothing";
}

TEST(Matcher, BindsAttributesAsSymbols) {
  constexpr std::string_view kRule = R"(
rule merge_convs
  x: [n, c, h, w]   a: [o, c, p, q]   b: [r, c, p, q]
  source
    y = conv(x, a; strides=[s, t], pads=[i, j, k, l])
    z = conv(x, b; strides=[s, t], pads=[i, j, k, l])
  target
    ab = concat(a, b; axis=0)
    yz = conv(x, ab; strides=[s, t], pads=[i, j, k, l])
    y, z = split(yz; axis=1, sizes=[o, r])
)";
  const auto convs = [&](std::string_view second) {
    return all_matches(kRule, "graph g\n x: f32[1, 3, 8, 8]\n a: f32[4, 3, 3, 3]\n"
                              " b: f32[5, 3, 3, 3]\n"
                              " y = conv(x, a; strides=[2, 1], pads=[1, 1, 0, 0])\n"
                              " z = conv(x, b; " +
                                  std::string(second) + ")\n return y, z");
  };
  EXPECT_EQ(convs("strides=[2, 1], pads=[1, 1, 0, 0]").size(), 1u);
  EXPECT_EQ(convs("strides=[1, 2], pads=[1, 1, 0, 0]").size(), 0u);
  EXPECT_EQ(convs("strides=[2, 1], pads=[1, 1, 0, 1]").size(), 0u);
  EXPECT_EQ(convs("strides=[2, 1], pads=[1, 1, 0, 0], dilations=[2, 2]").size(), 0u);
}

TEST(Matcher, SolvesEquationsBetweenSizes) {
  constexpr std::string_view kRule = R"(
rule halves
  x: [2*n, m + k]
  source
    a, b = split(x; axis=0, sizes=[n, n])
    c, d = split(a; axis=1, sizes=[m, k])
  target
    e, f = split(x; axis=1, sizes=[m, k])
    c, g = split(e; axis=0, sizes=[n, n])
    d, h = split(f; axis=0, sizes=[n, n])
    b = slice(x; axes=[0], starts=[n], sizes=[n], steps=[1])
)";
  const auto found = all_matches(kRule, R"(graph g
    x: f32[6, 5]
    a, b = split(x; axis=0, sizes=[3, 3])
    c, d = split(a; axis=1, sizes=[1, 4])
    return b, c, d)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].match.sizes, testing::ElementsAre(3, 1, 4));
  EXPECT_TRUE(all_matches(kRule, R"(graph g
    x: f32[6, 5]
    a, b = split(x; axis=0, sizes=[2, 4])
    c, d = split(a; axis=1, sizes=[1, 4])
    return b, c, d)")
                  .empty());
}

TEST(Matcher, DemandsConstantsWhereTheRuleDoes) {
  constexpr std::string_view kRule = R"(
rule reorder
  x: [n]  c: [n] constant  d: [n] constant
  source
    t = add(x, c)
    y = add(t, d)
  target
    e = add(c, d)
    y = add(x, e)
)";
  EXPECT_EQ(all_matches(kRule, R"(graph g
    x: f32[2]
    c: f32[2] = {1, 2}
    d: f32[2] = {3, 4}
    t = add(x, c)
    y = add(t, d)
    return y)")
                .size(),
            1u);
  EXPECT_TRUE(all_matches(kRule, R"(graph g
    x: f32[2]
    c: f32[2]
    d: f32[2] = {3, 4}
    t = add(x, c)
    y = add(t, d)
    return y)")
                  .empty());
}

TEST(Matcher, ComparesLiterals) {
  constexpr std::string_view kRule = R"(
rule times_one
  x: [n]  one: [] = {1}
  source
    y = mul(x, one)
  target
    y = x
)";
  const auto with = [&](std::string_view constant) {
    return all_matches(kRule, "graph g\n x: f32[2]\n c: " + std::string(constant) +
                                  "\n y = mul(c, x)\n z = relu(y)\n return z")
        .size();
  };
  EXPECT_EQ(with("f32[] = {1}"), 1u);
  EXPECT_EQ(with("f32[] = {2}"), 0u);
  EXPECT_EQ(with("f32[1] = {1}"), 0u);
  EXPECT_EQ(with("f32[]"), 0u);
}

/// A number of the model becomes the value of a symbol, as if a `full` had made it.
TEST(Matcher, BindsNumbersToRealSymbols) {
  constexpr std::string_view kRule = R"(
rule shifted_root
  x: [n]   g: [n]
  source
    e = full(; shape=[], value=eps)
    s = add(x, e)
    r = sqrt(s)
    y = mul(r, g)
  target
    e2 = full(; shape=[n], value=eps)
    s2 = add(x, e2)
    r2 = sqrt(s2)
    y = mul(g, r2)
)";
  const RuleSet rules(rules_of(kRule));
  const auto with = [&](const std::string& constant) {
    return all_matches(rules,
                       graph_of("graph g\n x: f32[2]\n g: f32[2]\n c: " + constant +
                                "\n s = add(c, x)\n r = sqrt(s)\n y = mul(r, g)\n return y"));
  };
  const auto found = with("f32[] = {1e-05}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].match.nodes.size(), 3u) << "the number is no node";
  const auto value = std::ranges::find(found[0].match.sizes, std::bit_cast<std::int64_t>(1e-5));
  EXPECT_NE(value, found[0].match.sizes.end());
  EXPECT_TRUE(with("f32[1] = {1e-05}").empty());
  EXPECT_TRUE(with("f32[]").empty());
}

TEST(Matcher, BindsFloatsUnlessToldOtherwise) {
  constexpr std::string_view kFloats = R"(
rule twice
  x: [n]
  source
    t = transpose(x; perm=[0])
    y = transpose(t; perm=[0])
  target
    y = transpose(x; perm=[0])
)";
  const auto on = [&](const std::string& rule, const std::string& type) {
    return all_matches(rule, "graph g\n x: " + type +
                                 "[2]\n t = transpose(x; perm=[0])\n"
                                 " y = transpose(t; perm=[0])\n return y")
        .size();
  };
  std::string ints(kFloats);
  ints.replace(ints.find("x: ["), 4, "x: i64[");
  EXPECT_EQ(on(std::string(kFloats), "f32"), 1u);
  EXPECT_EQ(on(std::string(kFloats), "f16"), 1u);
  EXPECT_EQ(on(std::string(kFloats), "i64"), 0u);
  EXPECT_EQ(on(ints, "i64"), 1u);
  EXPECT_EQ(on(ints, "f32"), 0u);
}

TEST(Matcher, BindsRealAttributes) {
  const auto found = all_matches(R"(
rule leaky
  x: [n]
  source
    t = leaky_relu(x; alpha=s)
    y = neg(t)
  target
    t2 = leaky_relu(x; alpha=s)
    zero = full(; shape=[], value=0.0)
    y = sub(zero, t2)
)",
                                 R"(graph g
    x: f32[2]
    t = leaky_relu(x; alpha=0.25)
    y = neg(t)
    return y)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(std::bit_cast<double>(found[0].match.sizes[1]), 0.25);
}

TEST(Matcher, ChecksGuards) {
  constexpr std::string_view kRule = R"(
rule guarded
  x: [n, m]
  where n <= 3, m > n
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)";
  const auto on = [&](const std::string& dims) {
    return all_matches(kRule,
                       "graph g\n x: f32" + dims +
                           "\n r = relu(x)\n t = neg(r)\n y = neg(t)\n z = relu(y)\n return z")
        .size();
  };
  EXPECT_EQ(on("[3, 4]"), 1u);
  EXPECT_EQ(on("[4, 5]"), 0u);
  EXPECT_EQ(on("[3, 3]"), 0u);
}

TEST(Matcher, LooksAtGivenNodesOnly) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2, 3]
    a: f32[3, 4]
    b: f32[3, 5]
    c: f32[3, 6]
    y = matmul(x, a)
    z = matmul(x, b)
    u = matmul(x, c)
    return y, z, u)");
  const RuleSet rules(rules_of(kMergeMatmuls));
  EXPECT_EQ(all_matches(rules, graph).size(), 3u);
  const auto count = [&](std::vector<NodeId> nodes) {
    int matches = 0;
    rules.for_each_match_at(graph, nodes, [&](core::RuleId, const Match&) { return ++matches; });
    return matches;
  };
  EXPECT_EQ(count({graph.order()[0]}), 2);
  EXPECT_EQ(count({graph.order()[0], graph.order()[1]}), 3) << "each match once";
  EXPECT_EQ(count({graph.order()[2], graph.order()[0], graph.order()[2]}), 3);
  EXPECT_EQ(count({}), 0);
}

TEST(Matcher, StopsWhenTold) {
  const Graph graph = graph_of(R"(graph g
    x: f32[2]
    a = relu(x)
    b = relu(a)
    c = relu(b)
    return c)");
  const RuleSet rules(rules_of(R"(
rule idempotent
  x: [n]
  source
    t = relu(x)
    y = relu(t)
  target
    y = relu(x)
)"));
  int matches = 0;
  rules.for_each_match(graph, [&](core::RuleId, const Match&) { return ++matches < 1; });
  EXPECT_EQ(matches, 1);
}

}  // namespace
}  // namespace soapstone::rules
