// Examples against wrong rules: they are found, they are small, and they can be run again.
#include "verifier/refutation/refute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/rule/constraints.h"
#include "tests/support/rules.h"
#include "tests/verifier/proves.h"
#include "verifier/refutation/saving_guard.h"

namespace soapstone::verifier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Refute, ShowsSizesInputsAndBothValues) {
  const auto found = refute(rule_of("x: [m, n]  a: [n, p]", "t = matmul(x, a)\n    y = relu(t)",
                                    "u = relu(x)\n    y = matmul(u, a)"),
                            40, 0);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->sizes, ElementsAre(Pair("m", 1), Pair("n", 1), Pair("p", 1)));
  ASSERT_EQ(found->inputs.size(), 2u);
  EXPECT_EQ(found->inputs[0].first, "x");
  EXPECT_EQ(found->inputs[0].second->data_type(), core::DataType::kFloat64);
  const double x = found->inputs[0].second->to_doubles()[0];
  const double a = found->inputs[1].second->to_doubles()[0];
  EXPECT_EQ(found->source, std::max(0.0, x * a));
  EXPECT_EQ(found->target, std::max(0.0, x) * a);
  EXPECT_EQ(std::fabs(x), 1);
  EXPECT_EQ(a, -1);
  EXPECT_THAT(found->text, HasSubstr("m = 1, n = 1, p = 1\nx[1, 1] = [["));
  EXPECT_THAT(found->text, HasSubstr("]]\ny[0, 0] is "));
}

TEST(Refute, KeepsOnlyElementsThatMatter) {
  const auto found = refute(
      rule_of("x: [n, m]", "y = transpose(x; perm=[1, 0])", "y = reshape(x; shape=[m, n])"), 40, 0);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->sizes, ElementsAre(Pair("n", 2), Pair("m", 2)));
  const auto x = found->inputs[0].second->to_doubles();
  EXPECT_EQ(std::count(x.begin(), x.end(), 1.0), 1);
  EXPECT_EQ(std::count(x.begin(), x.end(), 0.0), 3);
}

TEST(Refute, IsTheSameForTheSameSeed) {
  const auto rule = rule_of("x: [n, n]  a: [n, n]", "y = matmul(x, a)", "y = matmul(a, x)");
  EXPECT_EQ(refute(rule, 40, 3)->text, refute(rule, 40, 3)->text);
}

TEST(Refute, FindsNothingAgainstARightRule) {
  const auto rule =
      rule_of("x: [m, k]  a: [k, n]  b: [n, p]", "t = matmul(x, a)\n    y = matmul(t, b)",
              "u = matmul(a, b)\n    y = matmul(x, u)");
  EXPECT_FALSE(refute(rule, 100, 0));
}

/// Nothing is promised where the source has no value, whatever the target makes of it.
TEST(Refute, NeedsAValueOfTheSource) {
  struct Case {
    const char* source;
    const char* target;
  };
  for (const auto& [source, target] :
       {Case{"t = sqrt(x)\n    y = relu(t)", "u = relu(x)\n    y = sqrt(u)"},
        Case{"t = sqrt(x)\n    y = mul(t, t)", "y = x"},
        Case{"t = log(x)\n    y = exp(t)", "y = x"}}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_FALSE(refute(rule_of("x: [n]", source, target), 60, seed)) << source;
    EXPECT_FALSE(is_refuted(rule_of("x: [n]", source, target), 60, 0)) << source;
  }
  // The other way around the target has none.
  EXPECT_TRUE(refute(
      rule_of("x: [n]", "u = relu(x)\n    y = sqrt(u)", "t = sqrt(x)\n    y = relu(t)"), 60, 0));
}

TEST(Refute, RespectsTheGuard) {
  const std::string source = "y = transpose(x; perm=[1, 0])",
                    target = "y = reshape(x; shape=[m, n])";
  EXPECT_FALSE(refute(rule_of("x: [n, m]\n  where n = 1", source, target), 100, 0));
  const auto found = refute(rule_of("x: [n, m]\n  where n = 3*m", source, target), 40, 0);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->sizes, ElementsAre(Pair("n", 6), Pair("m", 2)));
}

struct SpecialSizes {
  const char* name;
  const char* inputs;
  const char* source;
  const char* target;
};
void PrintTo(const SpecialSizes& c, std::ostream* out) { *out << c.name; }

/// Wrong, but right at most sizes.
constexpr SpecialSizes kSpecial[] = {
    {"larger_than_the_window", "x: [1, 1, 1, m]",
     "y = max_pool(x; kernel=[1, 9], pads=[0, 4, 0, 4])",
     "t = reduce_max(x; axes=[3])\n    y = expand(t; shape=[1, 1, 1, m])"},
    {"a_remainder_of_the_stride", "x: [1, 1, 1, m]  w: [1, 1, 1, 1]",
     "t = conv(x, w; strides=[1, 2])\n    u = sigmoid(t)\n    y = reduce_sum(u; axes=[3])",
     "p = conv(x, w; strides=[1, 2], pads=[0, 0, 0, 1])\n    q = sigmoid(p)\n    y = "
     "reduce_sum(q; axes=[3])"},
    {"more_than_one", "x: [n, m]", "y = softmax(x; axis=1)",
     "t = reduce_max(x; axes=[1])\n    u = sub(x, t)\n    y = exp(u)"},
    {"different_sizes", "x: [n, m]  z: [n, k]",
     "t = reduce_mean(x; axes=[1])\n    u = reduce_mean(z; axes=[1])\n    y = add(t, u)",
     "c = concat(x, z; axis=1)\n    p = reduce_mean(c; axes=[1])\n    y = add(p, p)"},
    {"beyond_a_bound", "x: [n]", "y = clip(x; min=-1000000.0, max=1000000.0)", "y = x"},
    {"not_zero_or_one", "x: [n]", "t = abs(x)\n    y = sqrt(t)",
     "p = mul(x, x)\n    q = sqrt(p)\n    y = mul(q, q)"},
};
class RightAtMostSizes : public testing::TestWithParam<SpecialSizes> {};
TEST_P(RightAtMostSizes, IsRefuted) {
  const SpecialSizes& c = GetParam();
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_TRUE(refute(rule_of(c.inputs, c.source, c.target), 40, seed)) << "seed " << seed;
}
INSTANTIATE_TEST_SUITE_P(All, RightAtMostSizes, testing::ValuesIn(kSpecial),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(SavingGuard, IsTheFewestEquations) {
  const auto rule =
      rule_of("x: [n, m]", "y = transpose(x; perm=[1, 0])", "y = reshape(x; shape=[m, n])");
  const auto guard = find_saving_guard(rule, proves);
  ASSERT_EQ(guard.size(), 1u);
  EXPECT_EQ(rules::to_string(guard[0], rule.source.symbols()), "n - 1 = 0");
}

TEST(SavingGuard, IsEmptyWhereNoneSaves) {
  const auto rule = rule_of("x: [n]  z: [n]", "y = sub(x, z)", "y = sub(z, x)");
  EXPECT_TRUE(find_saving_guard(rule, proves).empty());
}

TEST(RefuteShapes, ShowsSizesAtWhichResultsDiffer) {
  const auto rule = rule_of("x: [n]  z: [m]", "t = concat(x, z; axis=0)\n    y = relu(t)",
                            "p = concat(x, x; axis=0)\n    y = relu(p)");
  ASSERT_EQ(rule.guard.size(), 1u);
  const auto found = refute_shapes(rule, 0);
  ASSERT_TRUE(found);
  EXPECT_NE(found->sizes[0].second, found->sizes[1].second);
  EXPECT_THAT(found->text, HasSubstr("\n`y` is f32["));
  EXPECT_FALSE(refute_shapes(rule_of("x: [n]", "y = relu(x)", "y = tanh(x)"), 0));
}

}  // namespace
}  // namespace soapstone::verifier
