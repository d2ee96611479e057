// Constants that are added between products: what they become behind them, that the rules hold, and
// where they have to stay.
#include "transforms/contract/offsets.h"

#include <ostream>
#include <string>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

struct Sums {
  std::string_view name, inputs, nodes;
  std::size_t steps = 0;  ///< Of the first plan.
};
void PrintTo(const Sums& all, std::ostream* out) { *out << all.name; }

std::vector<RewriteSequence> plans_for(const Sums& all) {
  return find_offsets(
      graph_of(fmt::format("graph {}\n{}{}  return y\n", all.name, all.inputs, all.nodes)));
}

constexpr Sums kSums[] = {
    {"rows", "  x: f32[2, 5, 3]\n",
     "  c = full(; shape=[3], value=0.5)\n  w = full(; shape=[3, 4], value=0.25)\n"
     "  s = add(c, x)\n  y = matmul(s, w)\n",
     1},
    {"moved_and_merged", "  x: f32[2, 3, 4, 5]\n",
     "  c = full(; shape=[3, 1, 1], value=0.5)\n  w = full(; shape=[15, 4], value=0.25)\n"
     "  s = add(x, c)\n  t = transpose(s; perm=[0, 2, 1, 3])\n  r = reshape(t; shape=[8, 15])\n"
     "  m = matmul(r, w)\n  y = reshape(m; shape=[2, 4, 4])\n",
     4},
    {"a_bias", "  x: f32[1, 2, 6]\n",
     "  k = full(; shape=[3, 2, 1], value=0.5)\n  b = full(; shape=[3], value=0.25)\n"
     "  w = full(; shape=[4, 3], value=0.25)\n"
     "  s = conv(x, k, b; strides=[1], pads=[0, 0], dilations=[1])\n  y = matmul(w, s)\n",
     1},
    {"before_a_window_with_zeros", "  x: f32[1, 2, 6]\n",
     "  k = full(; shape=[3, 2, 3], value=0.5)\n  b = full(; shape=[3], value=0.25)\n"
     "  c = full(; shape=[1, 2, 1], value=0.5)\n  s = add(x, c)\n"
     "  y = conv(s, k, b; strides=[1], pads=[1, 1], dilations=[1])\n",
     1},
    {"scaled_behind", "  x: f32[4, 3]\n",
     "  c = full(; shape=[1, 3], value=0.5)\n  w = full(; shape=[3, 5], value=0.25)\n"
     "  f = full(; shape=[5], value=2.0)\n"
     "  s = add(x, c)\n  m = matmul(s, w)\n  y = mul(m, f)\n",
     2},
};

class OffsetRules : public testing::TestWithParam<Sums> {};

TEST_P(OffsetRules, AreMadeAndHold) {
  const auto plans = plans_for(GetParam());
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].steps.size(), GetParam().steps);
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

INSTANTIATE_TEST_SUITE_P(All, OffsetRules, testing::ValuesIn(kSums),
                         [](const auto& all) { return std::string(all.param.name); });

constexpr Sums kOthers[] = {
    {"no_product", "  x: f32[4, 3]\n",
     "  c = full(; shape=[3], value=0.5)\n  s = add(x, c)\n  y = reshape(s; shape=[12])\n"},
    {"no_constant", "  x: f32[4, 3]\n  c: f32[3]\n",
     "  w = full(; shape=[3, 4], value=0.25)\n  s = add(x, c)\n  y = matmul(s, w)\n"},
    {"repeated_by_the_constant", "  x: f32[1, 3]\n",
     "  c = full(; shape=[4, 3], value=0.5)\n  w = full(; shape=[3, 4], value=0.25)\n"
     "  s = add(x, c)\n  y = matmul(s, w)\n"},
    {"a_function_before_the_product", "  x: f32[4, 3]\n",
     "  c = full(; shape=[3], value=0.5)\n  w = full(; shape=[3, 4], value=0.25)\n"
     "  s = add(x, c)\n  r = relu(s)\n  y = matmul(r, w)\n"},
    {"read_twice", "  x: f32[3, 3]\n",
     "  c = full(; shape=[3], value=0.5)\n  s = add(x, c)\n  y = matmul(s, s)\n"},
};

class NoOffsets : public testing::TestWithParam<Sums> {};

TEST_P(NoOffsets, AreMoved) { EXPECT_THAT(plans_for(GetParam()), IsEmpty()); }

INSTANTIATE_TEST_SUITE_P(All, NoOffsets, testing::ValuesIn(kOthers),
                         [](const auto& all) { return std::string(all.param.name); });

}  // namespace
}  // namespace soapstone::transforms
