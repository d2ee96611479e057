// The rule language beyond plain equations: quotients, choices, cases, optional inputs, real
// arithmetic, declared results. Each test also has graphs that must not match.
#include "rules/rule/constraints.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

/// The rule applied to its first match, printed; empty if it does not match or not apply.
std::string rewritten(std::string_view rules, std::string_view graph_text) {
  const Graph graph = graph_of(graph_text);
  const RuleSet set(rules_of(rules));
  const auto found = all_matches(set, graph);
  if (found.empty()) return {};
  const auto result = apply(graph, set[found[0].rule], found[0].match);
  return result ? core::print(*result) : std::string();
}

void expect_printed_the_same(std::string_view text) {
  for (const Rule& rule : rules_of(text)) {
    const std::string printed = print(rule);
    const auto again = rules_of(printed);
    ASSERT_EQ(again.size(), 1u) << printed;
    EXPECT_EQ(print(again[0]), printed);
    ASSERT_EQ(again[0].guard.size(), rule.guard.size()) << printed;
    for (std::size_t k = 0; k < rule.guard.size(); ++k) {
      EXPECT_EQ(again[0].guard[k].expression, rule.guard[k].expression);
      EXPECT_EQ(again[0].guard[k].label, rule.guard[k].label);
    }
    EXPECT_EQ(again[0].source.outputs().size(), rule.source.outputs().size());
  }
}

// Quotients.

constexpr std::string_view kHalves = R"(
rule relu_of_halves
  x: [h, n]
  source
    y = relu(x)
  target
    a, b = split(x; axis=0, sizes=[h/2, h/2])
    c = relu(a)
    d = relu(b)
    y = concat(c, d; axis=0)
)";

TEST(Quotient, MatchesWhatDivides) {
  EXPECT_THAT(rewritten(kHalves, "graph g\n x: f32[6, 2]\n y = relu(x)\n return y"),
              testing::HasSubstr("sizes=[3, 3]"));
  EXPECT_EQ(rewritten(kHalves, "graph g\n x: f32[7, 2]\n y = relu(x)\n return y"), "");
  expect_printed_the_same(kHalves);
}

TEST(Quotient, InTheSourceDeterminesTheWhole) {
  constexpr std::string_view kRule = R"(
rule r
  x: [(n + 1)/2, m]
  source
    y = expand(x; shape=[n, (n + 1)/2, m])
  target
    t = relu(x)
    y = expand(t; shape=[n, (n + 1)/2, m])
)";
  EXPECT_THAT(
      rewritten(kRule, "graph g\n x: f32[3, 2]\n y = expand(x; shape=[5, 3, 2])\n return y"),
      testing::HasSubstr("relu"));
  EXPECT_EQ(rewritten(kRule, "graph g\n x: f32[3, 2]\n y = expand(x; shape=[6, 3, 2])\n return y"),
            "");
}

TEST(Quotient, OfNumbersIsANumber) {
  const auto rules = rules_of(R"(
rule r
  for A in ranks(1..1)
  x: [A.., 6*n]
  source
    y = neg(x)
  target
    t = reshape(x; shape=[A.., 12/2/2*2*n])
    u = neg(t)
    y = reshape(u; shape=[A.., (|A| + 5)*n])
)");
  ASSERT_EQ(rules.size(), 1u);
  for (const ops::SizeConstraint& c : rules[0].guard)
    EXPECT_NE(c.kind, ops::SizeConstraint::Kind::kZero) << "the shapes are equal already";
}

// Choices.

constexpr std::string_view kSomewhere = R"(
rule relu_in_two_parts
  x: [n, m]
  choose p in 1..n - 1
  source
    y = relu(x)
  target
    a, b = split(x; axis=0, sizes=[p, n - p])
    c = relu(a)
    d = relu(b)
    y = concat(c, d; axis=0)
)";

TEST(Choice, IsInTheMiddle) {
  EXPECT_THAT(rewritten(kSomewhere, "graph g\n x: f32[7, 2]\n y = relu(x)\n return y"),
              testing::HasSubstr("sizes=[3, 4]"));
  EXPECT_EQ(rewritten(kSomewhere, "graph g\n x: f32[1, 2]\n y = relu(x)\n return y"), "")
      << "there is no such size";
  expect_printed_the_same(kSomewhere);
}

TEST(Choice, HoldsForAllOfThem) {
  const auto report = check(rules_of(kSomewhere)[0], 40, 1);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->counterexample);
  const auto wrong = check(rules_of(R"(
rule head_of_any_length
  x: [n, m]
  choose p in 1..n - 1
  source
    t = slice(x; axes=[0], starts=[0], sizes=[1], steps=[1])
    y = reduce_sum(t; axes=[0])
  target
    t2 = slice(x; axes=[0], starts=[0], sizes=[p], steps=[1])
    y = reduce_sum(t2; axes=[0])
)")[0],
                           40, 1);
  ASSERT_TRUE(wrong.ok()) << wrong.error().to_string();
  EXPECT_TRUE(wrong->counterexample) << "it holds for p = 1 alone";
}

// Cases.

TEST(NotEqual, MakesACaseOfEachOrder) {
  constexpr std::string_view kRule = R"(
rule r
  x: [n, m]
  where n != m
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)";
  EXPECT_THAT(names_of(kRule), testing::ElementsAre("r[n<m]", "r[n>m]"));
  const auto count = [&](std::string_view shape) {
    return all_matches(kRule, "graph g\n x: f32" + std::string(shape) +
                                  "\n t = neg(x)\n y = neg(t)\n return y")
        .size();
  };
  EXPECT_EQ(count("[2, 3]"), 1u);
  EXPECT_EQ(count("[3, 2]"), 1u);
  EXPECT_EQ(count("[3, 3]"), 0u);
  expect_printed_the_same(kRule);
}

TEST(NotEqual, LeavesOutInstances) {
  EXPECT_THAT(names_of(R"(
rule r
  for A in ranks(0..2)
  x: [A..]
  where |A| != 1
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)"),
              testing::ElementsAre("r[A=0]", "r[A=2]"));
}

// Optional inputs.

constexpr std::string_view kBias = R"(
rule neg_of_conv
  x: [n, c, h, w]   a: [o, c, p, q]   b: [o]
  source
    t = conv(x, a, b?)
    y = neg(t)
  target
    a2 = neg(a)
    b2? = neg(b?)
    y = conv(x, a2, b2?)
)";

TEST(OptionalInput, IsThereOrNot) {
  EXPECT_THAT(names_of(kBias),
              testing::ElementsAre("neg_of_conv[b=given]", "neg_of_conv[b=absent]"));
  const auto with =
      rewritten(kBias, "graph g\n x: f32[1, 2, 5, 5]\n a: f32[3, 2, 3, 3]\n b: f32[3]\n"
                       " t = conv(x, a, b)\n y = neg(t)\n return y");
  EXPECT_THAT(with, testing::HasSubstr("neg(b)"));
  const auto without = rewritten(kBias, "graph g\n x: f32[1, 2, 5, 5]\n a: f32[3, 2, 3, 3]\n"
                                        " t = conv(x, a)\n y = neg(t)\n return y");
  EXPECT_THAT(without, testing::HasSubstr("neg(a)"));
  EXPECT_THAT(without, testing::Not(testing::HasSubstr("_")));
  expect_printed_the_same(kBias);
}

TEST(OptionalInput, GoesWithItsDeclaration) {
  const auto rules = rules_of(kBias);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].source.inputs().size(), 3u);
  EXPECT_EQ(rules[1].source.inputs().size(), 2u);
  EXPECT_EQ(rules[1].source.node(rules[1].source.order()[0]).inputs.size(), 2u);
}

// Reals.

constexpr std::string_view kSlopes = R"(
rule two_slopes
  x: [n]
  source
    t = leaky_relu(x; alpha=a)
    y = leaky_relu(t; alpha=b)
  target
    y = leaky_relu(x; alpha=a*b)
)";

TEST(RealAttribute, IsComputedInTheTarget) {
  const auto text = rewritten(kSlopes, "graph g\n x: f32[3]\n t = leaky_relu(x; alpha=0.5)\n"
                                       " y = leaky_relu(t; alpha=0.25)\n return y");
  EXPECT_THAT(text, testing::HasSubstr("alpha=0.125"));
  const auto report = check(rules_of(kSlopes)[0], 20, 1);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->counterexample) << "negative slopes are no slopes twice";
  expect_printed_the_same(kSlopes);
}

TEST(RealAttribute, KeepsEveryBit) {
  constexpr std::string_view kRule = R"(
rule r
  x: [n]
  source
    t = neg(x)
    y = leaky_relu(t; alpha=a)
  target
    s = leaky_relu(x; alpha=2 - a)
    y = leaky_relu(s; alpha=a)
)";
  const auto text = rewritten(kRule, "graph g\n x: f32[3]\n t = neg(x)\n"
                                     " y = leaky_relu(t; alpha=0.30000001192092896)\n return y");
  EXPECT_THAT(text, testing::HasSubstr("alpha=0.30000001192092896"));
  EXPECT_THAT(text, testing::HasSubstr("alpha=1.699999988079071"));
}

TEST(RealAttribute, IsThatOfTheSameFloat) {
  constexpr std::string_view kRule =
      "rule r\n  x: [n]\n  source\n    y = leaky_relu(x; alpha=0.1)\n  target\n    y = neg(x)\n";
  const auto count = [&](std::string_view alpha) {
    return all_matches(kRule, "graph g\n x: f32[3]\n y = leaky_relu(x; alpha=" +
                                  std::string(alpha) + ")\n return y")
        .size();
  };
  EXPECT_EQ(count("0.10000000149011612"), 1u) << "as it stands in a model";
  EXPECT_EQ(count("0.1000001"), 0u);
}

// Constants.

TEST(Constant, IsTheSameInATypeOfFewerDigits) {
  const auto count = [](std::string_view constant, std::string_view type, std::string_view value) {
    const std::string t(type);
    return all_matches("rule r\n  x: [n]\n  c: [] = {" + std::string(constant) +
                           "}\n  source\n    y = mul(x, c)\n  target\n    y = neg(x)\n",
                       "graph g\n x: " + t + "[3]\n c: " + t + "[] = {" + std::string(value) +
                           "}\n y = mul(x, c)\n return y")
        .size();
  };
  EXPECT_EQ(count("0.7071067812", "f32", "0.70710678"), 1u);
  EXPECT_EQ(count("0.7071067812", "f32", "0.7071"), 0u);
  EXPECT_EQ(count("0.7071067812", "f16", "0.70703125"), 1u) << "the nearest that f16 has";
  EXPECT_EQ(count("0.7071067812", "f16", "0.70751953125"), 0u);
  EXPECT_EQ(count("0.375", "f64", "0.375"), 1u);
  EXPECT_EQ(count("0.7071067812", "f64", "0.7071067690849304"), 0u)
      << "f64 tells them apart, and the proof does not";
}

// Results.

TEST(Results, AreThoseThatAreDeclared) {
  const auto rules = rules_of(R"(
rule r
  x: [n]
  results y
  source
    t = neg(x)
    y = abs(t)
  target
    t = relu(x)
    u = neg(x)
    v = relu(u)
    y = add(t, v)
)");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].source.outputs().size(), 1u) << "t is a name used twice";
}

TEST(Results, MayBeReadIfTheyAreDeclared) {
  constexpr std::string_view kRule = R"(
rule r
  x: [n]
  results t, y
  source
    t = neg(x)
    y = neg(t)
  target
    t = neg(x)
    y = x
)";
  const auto rules = rules_of(kRule);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].source.outputs().size(), 2u);
  EXPECT_THAT(print(rules[0]), testing::HasSubstr("results t, y"));
  expect_printed_the_same(kRule);
}

TEST(Results, OfAnAliasNeedNoDeclaration) {
  EXPECT_EQ(rules_of("rule r\n  x: [n]\n  source\n    y = neg(x)\n    z = neg(x)\n  target\n"
                     "    y = neg(x)\n    z = y\n")[0]
                .source.outputs()
                .size(),
            2u);
}

TEST(Results, MayStillHaveTheNameOfAWord) {
  EXPECT_EQ(rules_of("rule r\n  results: [n]\n  source\n    y = neg(results)\n  target\n"
                     "    choose = abs(results)\n    y = relu(choose)\n")
                .size(),
            1u);
}

}  // namespace
}  // namespace soapstone::rules
