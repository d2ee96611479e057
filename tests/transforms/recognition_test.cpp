// What is written out: which function it is taken for, and that each rule made of it holds.
#include "transforms/recognize/recognition.h"

#include <string>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/spelled_functions.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class NamedFunctions : public testing::TestWithParam<SpelledFunction> {};

TEST_P(NamedFunctions, AreFoundAndHold) {
  const auto plans = find_named_functions(graph_of(graph_text(GetParam())));
  ASSERT_THAT(plans, SizeIs(1));
  const std::string name = rule_name(plans[0].steps.back().texts[0]);
  EXPECT_EQ(name.substr(0, name.find('[')), fmt::format("{}{}", kNamedPrefix, GetParam().rule));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

INSTANTIATE_TEST_SUITE_P(All, NamedFunctions, testing::ValuesIn(kSpelledFunctions),
                         [](const auto& spelled) { return std::string(spelled.param.name); });

TEST(Recognition, FindsNothingInWhatIsNearlyAFunction) {
  // The slope of one gelu with the cubic term of the other, and a variance of other elements.
  EXPECT_THAT(find_named_functions(graph_of(R"(graph nearly
  x: f32[2, 8]
  z: f32[2, 8]
  half = full(; shape=[], value=0.5)
  slope = full(; shape=[], value=0.71)
  small = full(; shape=[], value=0.00001)
  t = mul(x, slope)
  e = erf(t)
  h = mul(x, half)
  he = mul(h, e)
  g = add(h, he)
  mean = reduce_mean(x; axes=[1])
  d = sub(x, mean)
  c = mul(d, z)
  var = reduce_mean(c; axes=[1])
  v = add(var, small)
  r = sqrt(v)
  n = div(d, r)
  y = add(n, g)
  return y
)")),
              IsEmpty());
}

TEST(Recognition, ANormEndsWhereOthersReadIt) {
  // Else its negation, which is one too, would be taken for the whole.
  const auto plans = find_named_functions(graph_of(R"(graph swish
  x: f32[2, 8]
  small = full(; shape=[], value=0.00001)
  mean = reduce_mean(x; axes=[1])
  d = sub(x, mean)
  dd = mul(d, d)
  var = reduce_mean(dd; axes=[1])
  v = add(var, small)
  r = sqrt(v)
  n = div(d, r)
  m = neg(n)
  e = tanh(m)
  y = mul(n, e)
  return y
)"));
  ASSERT_THAT(plans, SizeIs(1));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
  EXPECT_EQ(plans[0].steps[0].texts[0].find("neg"), std::string::npos);
}

TEST(Recognition, FindsAFunctionBehindANorm) {
  const auto plans = find_named_functions(graph_of(R"(graph block
  x: f32[2, 8]
  one = full(; shape=[], value=1)
  small = full(; shape=[], value=0.00001)
  xx = mul(x, x)
  m = reduce_mean(xx; axes=[1])
  v = add(m, small)
  r = sqrt(v)
  n = div(x, r)
  e = exp(n)
  s = add(e, one)
  y = log(s)
  t = add(x, one)
  return y, t
)"));
  EXPECT_THAT(plans, SizeIs(2));
}

/// What baselines make of a gate that is written out: v · (1/(1 + exp(−x))).
TEST(Recognition, ADivisorIsOneOverAFunction) {
  const auto plans = find_named_functions(graph_of(R"(graph gates
  x: f32[2, 8, 1]
  v: f32[2, 8, 4]
  w: f32[8, 4]
  one = full(; shape=[], value=1)
  n = neg(x)
  e = exp(n)
  s = add(e, one)
  a = div(v, s)
  b = div(w, s)
  return a, b
)"));
  ASSERT_THAT(plans, SizeIs(1));
  ASSERT_THAT(plans[0].steps, SizeIs(2)) << "the sum goes when both are products";
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

TEST(Recognition, ADivisorIsNothingElse) {
  EXPECT_THAT(find_named_functions(graph_of(R"(graph gates
  x: f32[2, 8]
  v: f32[2, 8]
  two = full(; shape=[], value=2)
  n = neg(x)
  e = exp(n)
  s = add(e, two)
  a = div(v, s)
  b = div(s, v)
  return a, b
)")),
              IsEmpty());
}

TEST(Recognition, NamesAsFewOperatorsAsThereAre) {
  EXPECT_THAT(find_named_functions(graph_of(R"(graph silu
  x: f32[2, 8]
  s = sigmoid(x)
  y = mul(x, s)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
