// Windows that are written as cuts at shifted places, as blocks in channels, or as convolutions
// behind one another: that rules are made of them and hold, and where none may be.
#include "transforms/receptive/shifts.h"

#include <ostream>
#include <string>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "transforms/receptive/composed.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using Finder = std::vector<RewriteSequence> (*)(const Graph&);

struct Windows {
  std::string_view name;
  Finder find;
  std::string_view inputs, nodes;
};
void PrintTo(const Windows& all, std::ostream* out) { *out << all.name; }

Graph graph_of_windows(const Windows& all) {
  return graph_of(fmt::format("graph {}\n{}{}  return y\n", all.name, all.inputs, all.nodes));
}

constexpr Windows kWindows[] = {
    {"curvature", find_shifted_sums, "  x: f32[2, 3, 6, 7]\n",
     "  k = full(; shape=[], value=4.0)\n"
     "  c = slice(x; axes=[2, 3], starts=[1, 1], sizes=[4, 5], steps=[1, 1])\n"
     "  u = slice(x; axes=[2, 3], starts=[0, 1], sizes=[4, 5], steps=[1, 1])\n"
     "  d = slice(x; axes=[2, 3], starts=[2, 1], sizes=[4, 5], steps=[1, 1])\n"
     "  l = slice(x; axes=[2, 3], starts=[1, 0], sizes=[4, 5], steps=[1, 1])\n"
     "  r = slice(x; axes=[2, 3], starts=[1, 2], sizes=[4, 5], steps=[1, 1])\n"
     "  a = add(u, d)\n  b = add(l, r)\n  s = add(a, b)\n  m = mul(c, k)\n  y = sub(s, m)\n"},
    {"filters_of_channels_behind_zeros", find_shifted_sums, "  x: f32[1, 6, 4]\n",
     "  f = full(; shape=[4], value=0.5)\n  g = full(; shape=[1, 1, 4], value=0.25)\n"
     "  p = pad(x; pads=[0, 3, 0, 0, 0, 0], value=0.0)\n"
     "  a = slice(p; axes=[1], starts=[0], sizes=[6], steps=[1])\n"
     "  b = slice(p; axes=[1], starts=[2], sizes=[6], steps=[1])\n"
     "  s = mul(a, f)\n  t = mul(b, g)\n  u = add(s, t)\n  y = add(u, x)\n"},
    {"steps_and_quotients", find_shifted_sums, "  x: f32[9, 4]\n",
     "  k = full(; shape=[1], value=2.0)\n"
     "  a = slice(x; axes=[0], starts=[1], sizes=[3], steps=[2])\n"
     "  b = slice(x; axes=[0], starts=[3], sizes=[3], steps=[2])\n"
     "  s = add(a, b)\n  n = neg(s)\n  y = div(n, k)\n"},
    {"rows_before_the_first_and_behind_the_last", find_shifted_sums, "  x: f32[2, 12, 3]\n",
     "  a = slice(x; axes=[1], starts=[3], sizes=[4], steps=[1])\n"
     "  b = slice(x; axes=[1], starts=[5], sizes=[4], steps=[1])\n  y = sub(a, b)\n"},
    {"frames", find_shifted_joins, "  x: f32[2, 9, 3]\n",
     "  w = full(; shape=[9, 5], value=0.5)\n"
     "  a = slice(x; axes=[1], starts=[0], sizes=[5], steps=[1])\n"
     "  b = slice(x; axes=[1], starts=[2], sizes=[5], steps=[1])\n"
     "  c = slice(x; axes=[1], starts=[4], sizes=[5], steps=[1])\n"
     "  j = concat(a, b, c; axis=2)\n  y = matmul(j, w)\n"},
    {"patches", find_shifted_joins, "  x: f32[2, 6, 8, 3]\n",
     "  w = full(; shape=[12, 5], value=0.5)\n"
     "  a = slice(x; axes=[1, 2], starts=[0, 0], sizes=[3, 4], steps=[2, 2])\n"
     "  b = slice(x; axes=[1, 2], starts=[1, 0], sizes=[3, 4], steps=[2, 2])\n"
     "  c = slice(x; axes=[1, 2], starts=[0, 1], sizes=[3, 4], steps=[2, 2])\n"
     "  d = slice(x; axes=[1, 2], starts=[1, 1], sizes=[3, 4], steps=[2, 2])\n"
     "  j = concat(a, b, c, d; axis=3)\n  y = matmul(j, w)\n"},
    {"focus", find_shifted_joins, "  x: f32[1, 3, 8, 8]\n",
     "  w = full(; shape=[2, 12, 3, 3], value=0.5)\n  v = full(; shape=[2], value=0.25)\n"
     "  a = slice(x; axes=[2, 3], starts=[0, 0], sizes=[4, 4], steps=[2, 2])\n"
     "  b = slice(x; axes=[2, 3], starts=[1, 0], sizes=[4, 4], steps=[2, 2])\n"
     "  c = slice(x; axes=[2, 3], starts=[0, 1], sizes=[4, 4], steps=[2, 2])\n"
     "  d = slice(x; axes=[2, 3], starts=[1, 1], sizes=[4, 4], steps=[2, 2])\n"
     "  j = concat(a, b, c, d; axis=1)\n"
     "  y = conv(j, w, v; strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1])\n"},
    {"a_strided_window_over_frames", find_shifted_joins, "  x: f32[1, 2, 12]\n",
     "  w = full(; shape=[3, 4, 3], value=0.5)\n"
     "  a = slice(x; axes=[2], starts=[1], sizes=[9], steps=[1])\n"
     "  b = slice(x; axes=[2], starts=[3], sizes=[9], steps=[1])\n"
     "  j = concat(a, b; axis=1)\n"
     "  y = conv(j, w; strides=[2], pads=[0, 0], dilations=[2])\n"},
    {"channels_that_move_in_time", find_shifted_joins, "  x: f32[1, 5, 6, 4]\n",
     "  w = full(; shape=[3, 5, 1, 1], value=0.5)\n  o = full(; shape=[1, 2, 1, 4], value=0.0)\n"
     "  p, q, r = split(x; axis=1, sizes=[2, 2, 1])\n"
     "  a = slice(p; axes=[2], starts=[1], sizes=[5], steps=[1])\n"
     "  b = slice(q; axes=[2], starts=[0], sizes=[5], steps=[1])\n"
     "  c = concat(a, o; axis=2)\n  d = concat(o, b; axis=2)\n"
     "  j = concat(c, d, r; axis=1)\n  y = conv(j, w)\n"},
    {"channels_that_move_apart", find_shifted_joins, "  x: f32[2, 6, 5, 4]\n",
     "  w = full(; shape=[3, 7, 1, 3], value=0.5)\n  v = full(; shape=[3], value=0.25)\n"
     "  a = slice(x; axes=[1, 2], starts=[0, 1], sizes=[2, 4], steps=[1, 1])\n"
     "  b = slice(x; axes=[1, 3], starts=[4, 0], sizes=[2, 3], steps=[1, 1])\n"
     "  c = slice(x; axes=[1], starts=[1], sizes=[3], steps=[1])\n"
     "  d = pad(a; pads=[0, 0, 0, 0, 0, 0, 1, 0], value=0.0)\n"
     "  e = pad(b; pads=[0, 0, 0, 1, 0, 0, 0, 0], value=0.0)\n"
     "  j = concat(d, e, c; axis=1)\n"
     "  y = conv(j, w, v; strides=[1, 2], pads=[0, 0, 0, 0])\n"},
    {"parts_of_tokens_that_move", find_shifted_joins, "  x: f32[2, 7, 6]\n",
     "  w = full(; shape=[6, 5], value=0.5)\n"
     "  p, q = split(x; axis=2, sizes=[2, 4])\n"
     "  s = slice(p; axes=[1], starts=[0], sizes=[6], steps=[1])\n"
     "  a = pad(s; pads=[0, 1, 0, 0, 0, 0], value=0.0)\n"
     "  j = concat(q, a; axis=2)\n  y = matmul(j, w)\n"},
    {"convolutions", find_composed_windows, "  x: f32[2, 3, 15]\n",
     "  v = full(; shape=[4, 3, 3], value=0.5)\n  a = full(; shape=[4], value=0.5)\n"
     "  w = full(; shape=[2, 4, 2], value=0.25)\n  b = full(; shape=[2], value=0.5)\n"
     "  t = conv(x, v, a; strides=[2], pads=[1, 2], dilations=[2])\n"
     "  y = conv(t, w, b; strides=[2], pads=[0, 0], dilations=[2])\n"},
    {"convolutions_of_channels", find_composed_windows, "  x: f32[1, 3, 8, 9]\n",
     "  v = full(; shape=[3, 1, 3, 3], value=0.5)\n  a = full(; shape=[3], value=0.5)\n"
     "  w = full(; shape=[3, 1, 2, 1], value=0.25)\n"
     "  t = conv(x, v, a; pads=[1, 1, 1, 1], group=3)\n  y = conv(t, w; group=3)\n"},
    {"a_convolution_behind_one_of_channels", find_composed_windows, "  x: f32[1, 4, 9]\n",
     "  v = full(; shape=[4, 1, 3], value=0.5)\n  w = full(; shape=[3, 4, 2], value=0.25)\n"
     "  t = conv(x, v; strides=[1], pads=[0, 0], dilations=[1], group=4)\n"
     "  y = conv(t, w; strides=[1], pads=[0, 0], dilations=[1])\n"},
    {"columns_behind_rows", find_composed_windows, "  x: f32[2, 3, 7, 9]\n",
     "  v = full(; shape=[4, 3, 1, 3], value=0.5)\n  w = full(; shape=[2, 4, 3, 1], value=0.25)\n"
     "  b = full(; shape=[2], value=0.5)\n"
     "  t = conv(x, v; strides=[1, 2], pads=[0, 1, 0, 0], dilations=[1, 2])\n"
     "  y = conv(t, w, b; strides=[2, 1], pads=[2, 0, 1, 0], dilations=[2, 1])\n"},
    {"a_volume_behind_points", find_composed_windows, "  x: f32[1, 2, 4, 3, 5]\n",
     "  v = full(; shape=[3, 2, 1, 1, 1], value=0.5)\n"
     "  w = full(; shape=[2, 3, 3, 1, 3], value=0.25)\n"
     "  t = conv(x, v; strides=[1, 1, 1], pads=[0, 0, 0, 0, 0, 0], dilations=[1, 1, 1])\n"
     "  y = conv(t, w; strides=[1, 1, 2], pads=[1, 0, 1, 1, 0, 0], dilations=[1, 1, 1])\n"},
    {"blocks_behind_channels", find_composed_windows, "  x: f32[1, 3, 6, 8]\n",
     "  w = full(; shape=[2, 12, 3, 3], value=0.5)\n  b = full(; shape=[2], value=0.25)\n"
     "  r = reshape(x; shape=[1, 3, 3, 2, 4, 2])\n  t = transpose(r; perm=[0, 1, 3, 5, 2, 4])\n"
     "  j = reshape(t; shape=[1, 12, 3, 4])\n"
     "  y = conv(j, w, b; strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1])\n"},
    {"blocks_before_channels", find_composed_windows, "  x: f32[2, 3, 6, 8]\n",
     "  w = full(; shape=[5, 12, 1, 1], value=0.5)\n"
     "  r = reshape(x; shape=[2, 3, 3, 2, 4, 2])\n  t = transpose(r; perm=[0, 5, 3, 1, 2, 4])\n"
     "  j = reshape(t; shape=[2, 12, 3, 4])\n"
     "  y = conv(j, w; strides=[2, 2], pads=[0, 0, 0, 0], dilations=[1, 1])\n"},
};

class ShiftRules : public testing::TestWithParam<Windows> {};

TEST_P(ShiftRules, AreMadeAndHold) {
  const auto plans = GetParam().find(graph_of_windows(GetParam()));
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(steps_without_rules(plans), 0U);
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  const auto& last = rules.back().target;
  const auto is_window = [&](core::NodeId id) { return last.node(id).op->name == "conv"; };
  EXPECT_EQ(std::ranges::count_if(last.order(), is_window), 1) << print(rules.back());
}

INSTANTIATE_TEST_SUITE_P(All, ShiftRules, testing::ValuesIn(kWindows),
                         [](const auto& all) { return std::string(all.param.name); });

constexpr Windows kOthers[] = {
    {"a_factor_at_each_place", find_shifted_sums, "  x: f32[2, 6]\n",
     "  k = full(; shape=[5], value=4.0)\n"
     "  a = slice(x; axes=[1], starts=[0], sizes=[5], steps=[1])\n"
     "  b = slice(x; axes=[1], starts=[1], sizes=[5], steps=[1])\n"
     "  m = mul(a, k)\n  y = add(m, b)\n"},
    {"an_offset", find_shifted_sums, "  x: f32[2, 6]\n",
     "  k = full(; shape=[], value=4.0)\n"
     "  a = slice(x; axes=[1], starts=[0], sizes=[5], steps=[1])\n"
     "  b = slice(x; axes=[1], starts=[1], sizes=[5], steps=[1])\n"
     "  m = add(a, k)\n  n = add(b, k)\n  y = mul(m, n)\n"},
    {"padded_and_cut_back", find_shifted_sums, "  x: f32[2, 6]\n",
     "  p = pad(x; pads=[0, 1, 0, 1], value=0.0)\n"
     "  a = slice(p; axes=[1], starts=[1], sizes=[6], steps=[1])\n  y = add(x, a)\n"},
    {"many_channels", find_shifted_sums, "  x: f32[4096, 32, 16]\n",
     "  k = full(; shape=[4096, 32, 1], value=4.0)\n"
     "  a = slice(x; axes=[2], starts=[0], sizes=[6], steps=[1])\n"
     "  b = slice(x; axes=[2], starts=[1], sizes=[6], steps=[1])\n"
     "  c = slice(x; axes=[2], starts=[9], sizes=[6], steps=[1])\n"
     "  m = mul(a, k)\n  s = add(m, b)\n  y = add(s, c)\n"},
    {"other_steps", find_shifted_sums, "  x: f32[2, 9]\n",
     "  a = slice(x; axes=[1], starts=[0], sizes=[4], steps=[1])\n"
     "  b = slice(x; axes=[1], starts=[1], sizes=[4], steps=[2])\n  y = add(a, b)\n"},
    {"backwards", find_shifted_sums, "  x: f32[2, 6]\n",
     "  a = slice(x; axes=[1], starts=[5], sizes=[6], steps=[-1])\n  y = add(a, x)\n"},
    {"ones_beside_it", find_shifted_sums, "  x: f32[2, 6]\n",
     "  p = pad(x; pads=[0, 1, 0, 0], value=1.0)\n"
     "  a = slice(p; axes=[1], starts=[0], sizes=[6], steps=[1])\n  y = sub(x, a)\n"},
    {"zeros_where_there_is_something", find_shifted_sums, "  x: f32[2, 6]\n",
     "  c = slice(x; axes=[1], starts=[1], sizes=[5], steps=[1])\n"
     "  p = pad(c; pads=[0, 1, 0, 0], value=0.0)\n  y = sub(x, p)\n"},
    {"a_border_around_frames", find_shifted_joins, "  x: f32[1, 2, 12]\n",
     "  w = full(; shape=[3, 4, 3], value=0.5)\n"
     "  a = slice(x; axes=[2], starts=[1], sizes=[9], steps=[1])\n"
     "  b = slice(x; axes=[2], starts=[3], sizes=[9], steps=[1])\n"
     "  j = concat(a, b; axis=1)\n"
     "  y = conv(j, w; strides=[1], pads=[1, 1], dilations=[1])\n"},
    {"ones_in_time", find_shifted_joins, "  x: f32[1, 4, 6]\n",
     "  w = full(; shape=[3, 4, 1], value=0.5)\n  o = full(; shape=[1, 2, 1], value=1.0)\n"
     "  p, q = split(x; axis=1, sizes=[2, 2])\n"
     "  b = slice(q; axes=[2], starts=[0], sizes=[5], steps=[1])\n  d = concat(o, b; axis=2)\n"
     "  j = concat(p, d; axis=1)\n"
     "  y = conv(j, w; strides=[1], pads=[0, 0], dilations=[1])\n"},
    {"every_second_channel", find_shifted_joins, "  x: f32[1, 4, 6]\n",
     "  w = full(; shape=[3, 4, 1], value=0.5)\n"
     "  a = slice(x; axes=[1], starts=[0], sizes=[2], steps=[2])\n"
     "  b = slice(x; axes=[1], starts=[1], sizes=[2], steps=[2])\n"
     "  j = concat(a, b; axis=1)\n"
     "  y = conv(j, w; strides=[1], pads=[0, 0], dilations=[1])\n"},
    {"channels_of_zeros", find_shifted_joins, "  x: f32[1, 4, 6]\n",
     "  w = full(; shape=[3, 7, 1], value=0.5)\n"
     "  p = pad(x; pads=[0, 1, 0, 0, 0, 0], value=0.0)\n"
     "  b = slice(x; axes=[1], starts=[0], sizes=[2], steps=[1])\n"
     "  j = concat(p, b; axis=1)\n"
     "  y = conv(j, w; strides=[1], pads=[0, 0], dilations=[1])\n"},
    {"frames_behind_one_another", find_shifted_joins, "  x: f32[2, 9, 3]\n",
     "  w = full(; shape=[3, 5], value=0.5)\n"
     "  a = slice(x; axes=[1], starts=[0], sizes=[5], steps=[1])\n"
     "  b = slice(x; axes=[1], starts=[2], sizes=[5], steps=[1])\n"
     "  j = concat(a, b; axis=1)\n  y = matmul(j, w)\n"},
    {"a_border_between_convolutions", find_composed_windows, "  x: f32[2, 3, 15]\n",
     "  v = full(; shape=[4, 3, 3], value=0.5)\n  w = full(; shape=[2, 4, 3], value=0.25)\n"
     "  t = conv(x, v; strides=[1], pads=[0, 0], dilations=[1])\n"
     "  y = conv(t, w; strides=[1], pads=[1, 1], dilations=[1])\n"},
    {"a_bias_in_front_of_a_border", find_composed_windows, "  x: f32[2, 3, 15]\n",
     "  v = full(; shape=[4, 3, 1], value=0.5)\n  w = full(; shape=[2, 4, 3], value=0.25)\n"
     "  a = full(; shape=[4], value=0.5)\n"
     "  t = conv(x, v, a; strides=[1], pads=[0, 0], dilations=[1])\n"
     "  y = conv(t, w; strides=[1], pads=[1, 1], dilations=[1])\n"},
    {"blocks_far_apart", find_composed_windows, "  x: f32[1, 3, 12, 8]\n",
     "  w = full(; shape=[2, 12, 2, 2], value=0.5)\n"
     "  r = reshape(x; shape=[1, 3, 6, 2, 4, 2])\n  t = transpose(r; perm=[0, 1, 3, 5, 2, 4])\n"
     "  j = reshape(t; shape=[1, 12, 6, 4])\n"
     "  y = conv(j, w; strides=[1, 1], pads=[0, 0, 0, 0], dilations=[2, 2])\n"},
};

class NoShifts : public testing::TestWithParam<Windows> {};

TEST_P(NoShifts, AreFound) {
  EXPECT_THAT(GetParam().find(graph_of_windows(GetParam())), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, NoShifts, testing::ValuesIn(kOthers),
                         [](const auto& all) { return std::string(all.param.name); });

}  // namespace
}  // namespace soapstone::transforms
