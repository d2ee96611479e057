// Realistic sizes by the places at which they stand, and what rules gain at these.
#include "jobs/gains/rule_gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "jobs/gains/realistic_sizes.h"
#include "jobs/rules/rule_equation.h"
#include "tests/support/rules.h"

namespace soapstone::jobs {
namespace {

RuleGain gain_of(const std::string& text) {
  const auto costs = cost::make_roofline_cost(runtime::Fusion::kFull);
  return *best_gain(rules_of(text), pair_costs(*costs), {});
}

SizeRole role_of(const rules::Rule& rule, std::string_view symbol) {
  const auto roles = size_roles(rule);
  for (std::uint32_t s = 0; s < roles.size(); ++s)
    if (rule.source.symbols().name(core::Symbol{s}) == symbol) return roles[s];
  ADD_FAILURE() << symbol;
  return SizeRole::kNone;
}

// The names say nothing, on purpose.
constexpr const char* kConvs = R"(rule merge
  c: [n, k, h, m]   b: [o, k, 3, p]   x: [q, k, 3, p]
  source
    y = conv(c, b; pads=[1, 0, 1, 0])
    z = conv(c, x; pads=[1, 0, 1, 0])
  target
    w = concat(b, x; axis=0)
    t = conv(c, w; pads=[1, 0, 1, 0])
    y, z = split(t; axis=1, sizes=[o, q])
)";
constexpr const char* kNeutral = R"(rule neutral
  x: [n, m]
  source
    one = full(; shape=[n, m], value=1.0)
    y = mul(x, one)
  target
    y = x
)";

TEST(SizeRoles, AreReadOffOperators) {
  const auto rules = rules_of(kConvs);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(role_of(rules[0], "n"), SizeRole::kBatch);
  EXPECT_EQ(role_of(rules[0], "k"), SizeRole::kChannels);
  EXPECT_EQ(role_of(rules[0], "h"), SizeRole::kSpatial);
  EXPECT_EQ(role_of(rules[0], "m"), SizeRole::kSpatial);
  EXPECT_EQ(role_of(rules[0], "p"), SizeRole::kKernel);
  EXPECT_EQ(role_of(rules[0], "q"), SizeRole::kChannels);
  const auto matmuls = rules_of(kMergeMatmuls);
  EXPECT_EQ(role_of(matmuls[0], "m"), SizeRole::kRows);
  EXPECT_EQ(role_of(matmuls[0], "k"), SizeRole::kFeatures);
  EXPECT_EQ(role_of(matmuls[0], "p"), SizeRole::kFeatures);
}

TEST(SizeRoles, OfSpreadConstantsAreThoseOfWhatTheyAreSpreadOver) {
  const auto rules = rules_of(R"(rule r
  x: [a, b, c, d]   s: [b, 1, 1]   t: [b, 1, 1]
  source
    u = add(x, s)
    y = add(u, t)
  target
    st = add(s, t)
    y = add(x, st)
)");
  EXPECT_EQ(role_of(rules[0], "b"), SizeRole::kChannels);
}

TEST(RealisticSizes, SatisfyTheRuleAndAreTheSameForTheSameSeed) {
  const auto rules = rules_of(R"(rule r
  x: [s]
  source
    t, u = split(x; axis=0, sizes=[n, m])
    y = concat(t, u; axis=0)
  target
    y = x
)");
  const auto sized = at_realistic_sizes(rules[0], 6, 1), again = at_realistic_sizes(rules[0], 6, 1);
  ASSERT_FALSE(sized.empty());
  ASSERT_EQ(sized.size(), again.size());
  for (std::size_t i = 0; i < sized.size(); ++i) {
    EXPECT_EQ(sized[i].sizes, again[i].sizes);
    std::map<std::string, std::int64_t> size(sized[i].sizes.begin(), sized[i].sizes.end());
    EXPECT_EQ(size["s"], size["n"] + size["m"]);
    EXPECT_GE(size["n"], 256);
  }
}

TEST(RealisticSizes, FillInStridesAndDependentSizes) {
  const auto rules = rules_of(R"(rule r
  x: [n, c, h, w]   k: [o, c, p, q]
  source
    t = conv(x, k; strides=[s, t], pads=[a, b, a, b])
    y = relu(t)
    z = relu(y)
  target
    t2 = conv(x, k; strides=[s, t], pads=[a, b, a, b])
    z = relu(t2)
)");
  const auto sized = at_realistic_sizes(rules[0], 12, 1);
  ASSERT_GE(sized.size(), 6u);
  for (const SizedRule& s : sized) {
    EXPECT_TRUE(core::concrete(s.rule.source.tensor(s.rule.source.outputs()[0]).type.shape));
    for (const auto& [name, value] : s.sizes) EXPECT_EQ(name.find("floor"), std::string::npos);
  }
}

TEST(WeightInputs, AreRightOperandsAndWhatReachesThem) {
  const auto rules = rules_of(R"(rule r
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(a, b)
    y = matmul(x, t)
  target
    u = matmul(x, a)
    y = matmul(u, b)
)");
  const auto sized = at_realistic_sizes(rules[0], 1, 1);
  ASSERT_EQ(sized.size(), 1u);
  EXPECT_EQ(weight_inputs(sized[0].rule, Weights::kUsually), (std::vector{false, true, true}));
  EXPECT_EQ(weight_inputs(sized[0].rule, Weights::kAlways), (std::vector{false, false, false}));
  const auto conv = at_realistic_sizes(rules_of(kConvs)[0], 1, 1);
  ASSERT_EQ(conv.size(), 1u);
  EXPECT_EQ(weight_inputs(conv[0].rule, Weights::kAlways), (std::vector{false, true, true}));
}

TEST(RuleGain, MergingParallelMatmulsPaysWithConstantWeights) {
  const RuleGain gain = gain_of(kMergeMatmuls);
  EXPECT_TRUE(gain.pays());
  EXPECT_GT(gain.speedup(), 1.3);
  EXPECT_EQ(gain.trial.constants, (std::vector<std::string>{"a", "b"}));
  const std::string text = gain_text(gain, "roofline");
  EXPECT_TRUE(text.starts_with("pays: ")) << text;
  EXPECT_TRUE(text.ends_with(", weights constant (roofline)")) << text;
  EXPECT_TRUE(gain_of(kConvs).pays());
}

TEST(RuleGain, WhatLeavesNothingToRunPays) {
  const RuleGain gain = gain_of(kNeutral);
  EXPECT_TRUE(gain.pays());
  EXPECT_TRUE(std::isinf(gain.speedup()));
  EXPECT_TRUE(gain_text(gain, "roofline").starts_with("pays: leaves nothing to run at "));
}

// An operator that computes a part can write it in its place, so that a concat of computed parts is
// free; a concat of inputs is a copy.
TEST(RuleGain, OfTwoDirectionsOneEnables) {
  const std::string apart = R"(rule apart
  x: [n, k]   y: [m, k]
  source
    t = concat(x, y; axis=0)
    z = relu(t)
  target
    u = relu(x)
    v = relu(y)
    z = concat(u, v; axis=0)
)";
  const std::string together = R"(rule together
  x: [n, k]   y: [m, k]
  source
    u = relu(x)
    v = relu(y)
    z = concat(u, v; axis=0)
  target
    t = concat(x, y; axis=0)
    z = relu(t)
)";
  EXPECT_FALSE(gain_of(together).pays());
  EXPECT_TRUE(gain_text(gain_of(together), "roofline").starts_with("enables others: "));
  EXPECT_TRUE(gain_of(apart).pays());
  EXPECT_GT(gain_of(apart).speedup(), 1.0);
}

TEST(RuleGain, OfWeightsAloneIsNone) {
  const RuleGain gain = gain_of(R"(rule r
  w: [o, c, 3, 3]
  source
    t = enlarge(w; kernel=[5, 5])
    y = enlarge(t; kernel=[7, 7])
  target
    y = enlarge(w; kernel=[7, 7])
)");
  EXPECT_GT(gain.trials, 0u);
  EXPECT_FALSE(gain.has_cost());
  EXPECT_EQ(gain_text(gain, "roofline"),
            "enables others: views or weights alone, which cost nothing");
}

TEST(RuleEquation, IsOneLine) {
  EXPECT_EQ(equation_text(rules_of(kMergeMatmuls)[0]),
            "(matmul(x, a), matmul(x, b)) = split(matmul(x, concat(a, b; axis=1)); axis=1, "
            "sizes=[n, p])");
  EXPECT_EQ(equation_text(rules_of(kNeutral)[0]), "mul(x, full(shape=[n, m], value=1.0)) = x");
}

}  // namespace
}  // namespace soapstone::jobs
