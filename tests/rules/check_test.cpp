// The numeric check: true rules pass, wrong ones are refuted with a small counterexample.
#include <filesystem>

#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

CheckReport check_one(std::string_view text, int sizes = 30, int edge_tries = 0) {
  const auto rules = rules_of(text);
  if (rules.size() != 1) return {};
  const auto report = check(rules[0], sizes, 1, edge_tries);
  if (!report) ADD_FAILURE() << report.error().to_string();
  return report ? *report : CheckReport();
}

TEST(Check, ShippedRulesHold) {
  auto shipped = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
  ASSERT_TRUE(shipped.ok()) << shipped.error().to_string();
  for (const Rule& rule : shipped->rules) {
    const auto report = check(rule, 3, 11);
    ASSERT_TRUE(report.ok()) << rule.name << ": " << report.error().to_string();
    EXPECT_EQ(report->sizes_tried, 3) << rule.name;
    EXPECT_FALSE(report->counterexample) << rule.name << ": " << report->counterexample->text;
    EXPECT_LE(report->floats, rule.floats) << rule.name;
    EXPECT_TRUE(is_law_of_functions(rule) || !report->law_of_function) << rule.name;
  }
}

TEST(Check, TellsLawsOfFunctions) {
  const auto shift = check_one(R"(
rule softmax_shift
  x: [n, m]  s: [n, 1]
  source
    t = add(x, s)
    y = softmax(t; axis=1)
  target
    y = softmax(x; axis=1)
)");
  EXPECT_FALSE(shift.counterexample);
  EXPECT_TRUE(shift.law_of_function);
}

TEST(Check, TellsHowFloatsDiffer) {
  // The overflow of exp shows at the edges of the type.
  const auto floats_of = [](std::string_view text) { return check_one(text, 30, 300).floats; };
  EXPECT_EQ(floats_of(kMergeMatmuls), FloatBehavior::kExact);
  EXPECT_EQ(floats_of(R"(
rule reassociates
  x: [n]  y: [n]  z: [n]
  source
    t = add(x, y)
    r = add(t, z)
  target
    u = add(y, z)
    r = add(x, u)
)"),
            FloatBehavior::kReassociates);
  EXPECT_EQ(floats_of(R"(
rule changes_range
  x: [n]  z: [n]
  source
    t = add(x, z)
    y = exp(t)
  target
    u = exp(x)
    v = exp(z)
    y = mul(u, v)
)"),
            FloatBehavior::kChangesRange);
}

TEST(Check, MakesCounterexamplesSmall) {
  const auto report = check_one(R"(
rule wrong
  x: [n, m]  z: [n, m]
  source
    y = sub(x, z)
  target
    y = sub(z, x)
)");
  ASSERT_TRUE(report.counterexample);
  EXPECT_THAT(report.counterexample->sizes,
              testing::ElementsAre(testing::Pair("n", 1), testing::Pair("m", 1)));
  EXPECT_THAT(report.counterexample->text, testing::StartsWith("y[0, 0] is "));
}

TEST(Check, IsReproducible) {
  const auto rules = rules_of(R"(
rule wrong
  x: [n]  z: [n]
  source
    y = max(x, z)
  target
    y = min(x, z)
)");
  const auto a = check(rules[0], 50, 5), b = check(rules[0], 50, 5);
  ASSERT_TRUE(a.ok() && b.ok() && a->counterexample && b->counterexample);
  EXPECT_EQ(a->counterexample->text, b->counterexample->text);
}

TEST(Check, SaysThatNoSizesFit) {
  const auto rules = rules_of(R"(
rule nowhere
  x: [n]
  where n >= 100000
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)");
  const auto report = check(rules[0], 2, 1);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, core::ErrorCode::kUnsupported);
}

/// Rules that look right. Each differs from a true one in a detail.
constexpr std::string_view kWrong[] = {
    R"(
rule parts_exchanged
  x: [m, k]  a: [k, n]  b: [k, n]
  source
    y = matmul(x, a)
    z = matmul(x, b)
  target
    ab = concat(a, b; axis=1)
    yz = matmul(x, ab)
    z, y = split(yz; axis=1, sizes=[n, n])
)",
    R"(
rule pads_not_adjusted
  x: [n, c, h, w]  a: [o, c, 1, 1]
  source
    y = conv(x, a; pads=[0, 0, 0, 0])
  target
    b = enlarge(a; kernel=[3, 3])
    y = conv(x, b; pads=[2, 1, 0, 1])
)",
    R"(
rule dilation_lost
  x: [n, c, h, w]  a: [o, c, 1, 2]
  source
    y = conv(x, a; dilations=[1, 2], pads=[0, 1, 0, 1])
  target
    y = conv(x, a; pads=[0, 0, 0, 1])
)",
    R"(
rule grouped_weights_concatenated
  x: [n, 2*c, h, w]  a: [2*o, c, p, q]  b: [2*o, c, p, q]
  source
    y = conv(x, a; group=2)
    z = conv(x, b; group=2)
  target
    ab = concat(a, b; axis=0)
    yz = conv(x, ab; group=2)
    y, z = split(yz; axis=1, sizes=[2*o, 2*o])
)",
    R"(
rule mean_not_scaled
  x: [n, c, h, w]  a: [o, c, p, q]  gamma: [o]  beta: [o]  mean: [o]  var: [o]
  source
    xa = conv(x, a)
    y = batch_norm(xa, gamma, beta, mean, var; epsilon=eps)
  target
    small = full(; shape=[], value=eps)
    vs = add(var, small)
    dev = sqrt(vs)
    scale = div(gamma, dev)
    scale4 = reshape(scale; shape=[o, 1, 1, 1])
    f = mul(a, scale4)
    b = sub(beta, mean)
    y = conv(x, f, b)
)",
    R"(
rule average_of_padding
  x: [n, c, h, w]  a: [o, c, 1, 1]  b: [o]
  source
    u = average_pool(x; kernel=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    y = conv(u, a, b)
  target
    xa = conv(x, a, b)
    y = average_pool(xa; kernel=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
)",
    R"(
rule average_through_relu
  x: [n, c, h, w]
  source
    t = relu(x)
    y = average_pool(t; kernel=[2, 2])
  target
    u = average_pool(x; kernel=[2, 2])
    y = relu(u)
)",
    R"(
rule relu_over_sum
  x: [n]  z: [n]
  source
    s = add(x, z)
    y = relu(s)
  target
    u = relu(x)
    v = relu(z)
    y = add(u, v)
)",
    R"(
rule matmul_commutes
  x: [n, n]  z: [n, n]
  source
    y = matmul(x, z)
  target
    y = matmul(z, x)
)",
    R"(
rule softmax_of_scaled
  x: [n, m]  c: []
  source
    t = mul(x, c)
    y = softmax(t; axis=1)
  target
    y = softmax(x; axis=1)
)",
    R"(
rule softmax_shifted_along_rows
  x: [n, m]  s: [m]
  source
    t = add(x, s)
    y = softmax(t; axis=1)
  target
    y = softmax(x; axis=1)
)",
    R"(
rule layer_norm_keeps_scale
  x: [n, m]  g: [m]  c: [m]
  source
    t = mul(x, c)
    y = layer_norm(t, g; axis=1)
  target
    y = layer_norm(x, g; axis=1)
)",
    R"(
rule root_of_product
  x: [n]  z: [n]
  source
    p = mul(x, z)
    y = sqrt(p)
  target
    u = sqrt(x)
    v = sqrt(z)
    y = mul(u, v)
)",
    R"(
rule wide_clip
  x: [n]
  source
    y = clip(x; min=-1000000.0, max=1000000.0)
  target
    y = x
)",
    R"(
rule reshape_as_transpose
  x: [n, m]
  source
    y = reshape(x; shape=[m, n])
  target
    y = transpose(x; perm=[1, 0])
)",
    R"(
rule composed_the_other_way
  x: [a, a, a]
  source
    t = transpose(x; perm=[1, 2, 0])
    y = transpose(t; perm=[0, 2, 1])
  target
    y = transpose(x; perm=[2, 1, 0])
)",
    R"(
rule division_associates
  x: [n]  y: [n]  z: [n]
  source
    t = div(y, z)
    r = div(x, t)
  target
    u = div(x, y)
    r = div(u, z)
)",
    R"(
rule slice_off_by_one
  x: [n, m]
  source
    t = slice(x; axes=[1], starts=[s], sizes=[k], steps=[1])
    y = slice(t; axes=[1], starts=[r], sizes=[j], steps=[1])
  target
    y = slice(x; axes=[1], starts=[r], sizes=[j], steps=[1])
)",
};

class WrongRule : public testing::TestWithParam<std::string_view> {};

TEST_P(WrongRule, IsRefuted) {
  EXPECT_TRUE(check_one(GetParam(), 200).counterexample) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(All, WrongRule, testing::ValuesIn(kWrong), [](const auto& test) {
  const std::string_view name = test.param.substr(std::string_view("\nrule ").size());
  return std::string(name.substr(0, name.find('\n')));
});

}  // namespace
}  // namespace soapstone::rules
