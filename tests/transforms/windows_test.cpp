// Convolutions with unlike windows: which become one, and that each rule made of them holds.
#include "transforms/receptive/windows.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

struct Convolutions {
  std::string_view name, inputs, nodes;  ///< Weights are made by operators of nothing.
  std::string_view rules;                ///< What the first plan takes, in order.
};
void PrintTo(const Convolutions& all, std::ostream* out) { *out << all.name; }

constexpr Convolutions kConvolutions[] = {
    {"branches", "  x: f32[2, 3, 9]\n",
     "  a = full(; shape=[4, 3, 3], value=0.5)\n  b = full(; shape=[5, 3, 5], value=0.25)\n"
     "  c = full(; shape=[5], value=0.5)\n"
     "  p = conv(x, a; strides=[1], dilations=[2], pads=[2, 2])\n"
     "  q = conv(x, b, c; strides=[1], dilations=[1], pads=[2, 2])\n"
     "  r = relu(p)\n  y = concat(r, q; axis=1)\n",
     "conv convs"},
    {"activated", "  x: f32[2, 3, 9]\n",
     "  a = full(; shape=[4, 3, 3], value=0.5)\n  b = full(; shape=[5, 3, 5], value=0.25)\n"
     "  p = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n"
     "  q = conv(x, b; strides=[1], dilations=[1], pads=[2, 2])\n"
     "  r = leaky_relu(p; alpha=0.25)\n  s = leaky_relu(q; alpha=0.25)\n"
     "  y = concat(r, s; axis=1)\n",
     "conv convs"},
    {"not_around_the_place", "  x: f32[2, 3, 9]\n",
     "  a = full(; shape=[4, 3, 2], value=0.5)\n  b = full(; shape=[5, 3, 4], value=0.25)\n"
     "  p = conv(x, a; strides=[2], dilations=[1], pads=[1, 0])\n"
     "  q = conv(x, b; strides=[2], dilations=[1], pads=[1, 2])\n"
     "  y = concat(p, q; axis=1)\n",
     "conv convs"},
    {"large_depthwise", "  x: f32[1, 4, 8, 9]\n",
     "  a = full(; shape=[4, 1, 5, 5], value=0.5)\n  b = full(; shape=[4, 1, 3, 3], value=0.25)\n"
     "  c = full(; shape=[4], value=0.5)\n"
     "  p = conv(x, a, c; pads=[2, 2, 2, 2], group=4)\n"
     "  q = conv(x, b, c; pads=[2, 2, 2, 2], dilations=[2, 2], group=4)\n"
     "  s = conv(x, b; pads=[1, 1, 1, 1], group=4)\n"
     "  t = add(p, q)\n  y = add(t, s)\n",
     "conv conv sum"},
    {"pairs_of_strips", "  x: f32[1, 4, 8, 9]\n",
     "  a = full(; shape=[4, 1, 1, 5], value=0.5)\n  b = full(; shape=[4, 1, 1, 3], value=0.25)\n"
     "  c = full(; shape=[4], value=0.5)\n  d = full(; shape=[4, 1, 5, 1], value=0.5)\n"
     "  e = full(; shape=[4, 1, 3, 1], value=0.25)\n"
     "  p = conv(x, a, c; pads=[0, 2, 0, 2], group=4)\n"
     "  q = conv(x, b; pads=[0, 1, 0, 1], group=4)\n"
     "  r = conv(p, d, c; pads=[2, 0, 2, 0], group=4)\n"
     "  s = conv(q, e; pads=[1, 0, 1, 0], group=4)\n"
     "  t = add(x, r)\n  y = add(t, s)\n",
     "conv conv pairs"},
    {"activated_pairs", "  x: f32[2, 4, 9]\n  u: f32[2, 4, 7]\n",
     "  a = full(; shape=[4, 1, 3], value=0.5)\n  b = full(; shape=[4, 1, 3], value=0.25)\n"
     "  c = full(; shape=[4], value=0.5)\n"
     "  p = conv(x, a; strides=[1], dilations=[1], pads=[1, 0], group=4)\n"
     "  q = conv(x, b, c; strides=[1], dilations=[1], pads=[1, 0], group=4)\n"
     "  g = relu(p)\n  h = relu(q)\n"
     "  r = conv(g, a, c; strides=[1], dilations=[1], pads=[0, 1], group=4)\n"
     "  s = conv(h, b, c; strides=[1], dilations=[1], pads=[0, 1], group=4)\n"
     "  t = add(r, u)\n  y = add(t, s)\n",
     "pairs"},
    {"sum_of_images", "  x: f32[2, 3, 9]\n  z: f32[2, 2, 9]\n  u: f32[2, 4, 9]\n",
     "  a = full(; shape=[4, 3, 3], value=0.5)\n  b = full(; shape=[4, 2, 5], value=0.25)\n"
     "  c = full(; shape=[4], value=0.5)\n"
     "  p = conv(x, a, c; strides=[1], dilations=[1], pads=[1, 1])\n"
     "  q = conv(z, b, c; strides=[1], dilations=[1], pads=[2, 2])\n"
     "  r = add(p, u)\n  s = add(q, u)\n  y = add(r, s)\n",
     "conv sum"},
    {"groups_beside_none", "  x: f32[1, 4, 9]\n  z: f32[1, 4, 9]\n",
     "  a = full(; shape=[4, 4, 3], value=0.5)\n  b = full(; shape=[4, 1, 3], value=0.25)\n"
     "  c = full(; shape=[4], value=0.5)\n  d = full(; shape=[4, 2, 1], value=0.25)\n"
     "  p = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n"
     "  q = conv(x, b, c; strides=[1], dilations=[2], pads=[2, 2], group=4)\n"
     "  r = conv(z, d; strides=[1], dilations=[1], pads=[0, 0], group=2)\n"
     "  t = add(p, q)\n  y = add(t, r)\n",
     "groups groups conv conv conv sum"},
    {"points", "  x: f32[1, 3, 6, 6]\n",
     "  a = full(; shape=[3, 3, 1, 1], value=0.5)\n  b = full(; shape=[3, 3, 3, 3], value=0.25)\n"
     "  p = conv(x, a; strides=[2, 2])\n  q = conv(x, b; strides=[2, 2], pads=[1, 1, 1, 1])\n"
     "  y = add(p, q)\n",
     "conv sum"},
};

Graph graph_with(const Convolutions& all) {
  return graph_of(fmt::format("graph {}\n{}{}  return y\n", all.name, all.inputs, all.nodes));
}

class WindowRules : public testing::TestWithParam<Convolutions> {};

TEST_P(WindowRules, AreMadeAndHold) {
  const auto plans = find_windows(graph_with(GetParam()));
  ASSERT_FALSE(plans.empty());
  std::string taken;
  for (const RewriteStep& step : plans[0].steps) {
    const std::string name = rule_name(step.texts[0]);
    taken += (taken.empty() ? "" : " ") +
             name.substr(kWindowPrefix.size(), name.find('[') - kWindowPrefix.size());
  }
  EXPECT_EQ(taken, GetParam().rules);
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

INSTANTIATE_TEST_SUITE_P(All, WindowRules, testing::ValuesIn(kConvolutions),
                         [](const auto& all) { return std::string(all.param.name); });

TEST(Windows, AreNotMadeTooLarge) {
  EXPECT_THAT(find_windows(graph_of(R"(graph far
  x: f32[1, 3, 60, 60]
  a = full(; shape=[3, 3, 3, 3], value=0.5)
  p = conv(x, a; pads=[1, 1, 1, 1])
  q = conv(x, a; pads=[17, 17, 17, 17], dilations=[17, 17])
  r = relu(p)
  y = concat(r, q; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(Windows, AreLeftWhereResultsAreRead) {
  EXPECT_THAT(find_windows(graph_of(R"(graph shared
  x: f32[1, 3, 6]
  z: f32[1, 3, 6]
  a = full(; shape=[3, 3, 3], value=0.5)
  p = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])
  q = conv(z, a; strides=[1], dilations=[1], pads=[1, 1])
  y = add(p, q)
  return y, q
)")),
              IsEmpty());
}

/// Kernels of two and three rows, and of all columns, over a sentence.
std::string sentence(std::string_view function, std::string_view greatest) {
  return fmt::format("graph g\n  x: f32[2, 1, 9, 4]\n"
                     "  a = full(; shape=[3, 1, 2, 4], value=0.5)\n"
                     "  b = full(; shape=[5, 1, 3, 4], value=0.25)\n"
                     "  c = full(; shape=[5], value=0.5)\n"
                     "  p = conv(x, a)\n  q = conv(x, b, c)\n  r = {0}(p)\n  s = {0}(q)\n"
                     "  t = reshape(r; shape=[2, 3, 8])\n  u = reshape(s; shape=[2, 5, 7])\n"
                     "{1}  y = add(v, v)\n  return y, w\n",
                     function, greatest);
}

TEST(GreatestWindows, OfUnlikeLengthsAreOne) {
  for (const char* function : {"relu", "tanh"}) {
    const auto rules = made_rules(find_windows(graph_of(sentence(
        function, "  v = max_pool(t; kernel=[8], strides=[8], pads=[0, 0], dilations=[1])\n"
                  "  w = reduce_max(u; axes=[2], keep_dims=0)\n"))));
    const auto rule = std::ranges::find(rules, "window_of_greatest", &Rule::base_name);
    ASSERT_NE(rule, rules.end()) << function;
    expect_rules_hold({*rule}, 5);
    const auto is_conv = [&](core::NodeId id) { return rule->target.node(id).op->name == "conv"; };
    EXPECT_EQ(std::ranges::count_if(rule->target.order(), is_conv), 1) << print(*rule);
  }
}

/// The least, and the greatest of a few.
TEST(GreatestWindows, NeedTheGreatestOfAllPlaces) {
  for (const char* pools :
       {"  v = reduce_min(t; axes=[2])\n  w = reduce_min(u; axes=[2])\n",
        "  v = max_pool(t; kernel=[2], strides=[2], pads=[0, 0], dilations=[1])\n"
        "  w = max_pool(u; kernel=[2], strides=[2], pads=[0, 0], dilations=[1])\n"}) {
    const auto rules = made_rules(find_windows(graph_of(sentence("relu", pools))));
    EXPECT_EQ(std::ranges::find(rules, "window_of_greatest", &Rule::base_name), rules.end());
  }
}

}  // namespace
}  // namespace soapstone::transforms
