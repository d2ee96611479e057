// Convolutions of which some places are read, and means of them: which become one convolution, and
// that each rule made of them holds.
#include "transforms/receptive/stepped.h"

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

struct Stepped {
  std::string_view name, nodes;
};
void PrintTo(const Stepped& all, std::ostream* out) { *out << all.name; }

/// Of a signal of 13 places or an image of 8 by 9; weights are made by operators of nothing.
Graph graph_with(const Stepped& all) {
  return graph_of(fmt::format("graph {}\n  x: f32[2, 3, 13]\n  z: f32[1, 4, 8, 9]\n"
                              "  a = full(; shape=[4, 3, 3], value=0.5)\n"
                              "  p = full(; shape=[4, 3, 1], value=0.5)\n"
                              "  b = full(; shape=[4], value=0.25)\n"
                              "  e = full(; shape=[4, 1, 3, 3], value=0.5)\n"
                              "{}  return y\n",
                              all.name, all.nodes));
}

constexpr Stepped kOne[] = {
    {"every_second", "  t = conv(x, a, b; strides=[1], dilations=[1], pads=[1, 1])\n"
                     "  y = slice(t; axes=[2], starts=[0], sizes=[7], steps=[2])\n"},
    {"every_third_from_the_second", "  t = conv(x, a; strides=[1], dilations=[2], pads=[2, 2])\n"
                                    "  y = slice(t; axes=[2], starts=[1], sizes=[4], steps=[3])\n"},
    {"in_the_middle", "  t = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n"
                      "  y = slice(t; axes=[2], starts=[4], sizes=[3], steps=[2])\n"},
    {"of_strides", "  t = conv(x, a, b; strides=[2], dilations=[1], pads=[0, 1])\n"
                   "  y = slice(t; axes=[2], starts=[1], sizes=[3], steps=[2])\n"},
    {"points", "  t = conv(x, p; strides=[1], dilations=[1], pads=[0, 0])\n"
               "  y = slice(t; axes=[2], starts=[0], sizes=[6], steps=[2])\n"},
    {"few_points", "  t = conv(x, p; strides=[1], dilations=[1], pads=[0, 0])\n"
                   "  y = slice(t; axes=[2], starts=[0], sizes=[4], steps=[2])\n"},
    {"pool_of_single_places", "  t = conv(z, e, b; pads=[1, 1, 1, 1], group=4)\n"
                              "  y = max_pool(t; kernel=[1, 1], strides=[2, 2])\n"},
    {"one_dimension", "  t = conv(z, e; pads=[1, 1, 1, 1], group=4)\n"
                      "  y = slice(t; axes=[3], starts=[1], sizes=[4], steps=[2])\n"},
    {"functions_between",
     "  c = full(; shape=[4, 1], value=0.5)\n  d = full(; shape=[], value=2.0)\n"
     "  r = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n  s = mul(c, r)\n"
     "  q = sub(s, d)\n  t = relu(q)\n"
     "  y = slice(t; axes=[2], starts=[0], sizes=[7], steps=[2])\n"},
    {"points_of_every_second", "  t = slice(x; axes=[2], starts=[0], sizes=[7], steps=[2])\n"
                               "  y = conv(t, p, b; strides=[1], dilations=[1], pads=[0, 0])\n"},
    {"windows_of_every_second", "  t = slice(x; axes=[2], starts=[1], sizes=[6], steps=[2])\n"
                                "  y = conv(t, a; strides=[1], dilations=[1], pads=[1, 0])\n"},
    {"windows_beside_the_image", "  t = slice(x; axes=[2], starts=[0], sizes=[7], steps=[2])\n"
                                 "  y = conv(t, a, b; strides=[2], dilations=[1], pads=[1, 1])\n"},
    {"windows_in_the_middle", "  t = slice(x; axes=[2], starts=[3], sizes=[4], steps=[2])\n"
                              "  y = conv(t, a, b; strides=[1], dilations=[1], pads=[0, 0])\n"},
    {"single_places_in_front", "  t = average_pool(z; kernel=[1, 1], strides=[2, 2])\n"
                               "  y = conv(t, e; pads=[1, 1, 1, 1], group=4)\n"},
    {"mean_of_windows", "  t = conv(z, e, b; pads=[1, 1, 1, 1], group=4)\n"
                        "  y = average_pool(t; kernel=[2, 2], strides=[2, 2])\n"},
    {"mean_of_points",
     "  t = conv(x, p, b; strides=[1], dilations=[1], pads=[0, 0])\n"
     "  y = average_pool(t; kernel=[3], strides=[2], pads=[0, 0], dilations=[1])\n"},
    {"mean_along_one_dimension", "  t = conv(z, e; pads=[1, 1, 1, 1], strides=[1, 2], group=4)\n"
                                 "  y = average_pool(t; kernel=[3, 1], strides=[1, 1])\n"},
};

constexpr Stepped kNone[] = {
    {"next_to_each_other", "  t = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n"
                           "  y = slice(t; axes=[2], starts=[2], sizes=[7], steps=[1])\n"},
    {"channels", "  t = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n"
                 "  y = slice(t; axes=[1], starts=[0], sizes=[2], steps=[2])\n"},
    {"border_of_what_is_left_out", "  t = slice(x; axes=[2], starts=[2], sizes=[5], steps=[2])\n"
                                   "  y = conv(t, a; strides=[1], dilations=[1], pads=[1, 0])\n"},
    {"end_of_what_is_left_out", "  t = slice(x; axes=[2], starts=[0], sizes=[5], steps=[2])\n"
                                "  y = conv(t, a; strides=[1], dilations=[1], pads=[0, 1])\n"},
    {"padded_mean", "  t = conv(z, e; pads=[1, 1, 1, 1], group=4)\n"
                    "  y = average_pool(t; kernel=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1])\n"},
    {"mean_beyond_the_end", "  t = conv(z, e; pads=[1, 1, 1, 1], group=4)\n"
                            "  y = average_pool(t; kernel=[2, 2], strides=[2, 2], ceil_mode=1)\n"},
    {"greatest", "  t = conv(z, e; pads=[1, 1, 1, 1], group=4)\n"
                 "  y = max_pool(t; kernel=[2, 2], strides=[2, 2])\n"},
    {"mean_of_steps", "  t = conv(z, e; pads=[1, 1, 1, 1], strides=[2, 2], group=4)\n"
                      "  y = average_pool(t; kernel=[2, 2], strides=[2, 2])\n"},
    {"other_factors_at_places",
     "  c = full(; shape=[13], value=0.5)\n  r = conv(x, a; strides=[1], dilations=[1], pads=[1, "
     "1])\n"
     "  t = mul(r, c)\n  y = slice(t; axes=[2], starts=[0], sizes=[7], steps=[2])\n"},
    {"mean_of_a_function", "  s = conv(z, e; pads=[1, 1, 1, 1], group=4)\n  t = relu(s)\n"
                           "  y = average_pool(t; kernel=[2, 2], strides=[2, 2])\n"},
    {"read_elsewhere", "  t = conv(x, a; strides=[1], dilations=[1], pads=[1, 1])\n"
                       "  s = slice(t; axes=[2], starts=[0], sizes=[7], steps=[2])\n"
                       "  r = slice(t; axes=[2], starts=[0], sizes=[7], steps=[1])\n"
                       "  y = add(s, r)\n"},
};

class SteppedWindows : public testing::TestWithParam<Stepped> {};
class OtherSteps : public testing::TestWithParam<Stepped> {};

TEST_P(SteppedWindows, AreMadeAndHold) {
  const auto plans = find_stepped_windows(graph_with(GetParam()));
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

TEST_P(OtherSteps, AreLeft) {
  EXPECT_THAT(find_stepped_windows(graph_with(GetParam())), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, SteppedWindows, testing::ValuesIn(kOne),
                         [](const auto& all) { return std::string(all.param.name); });
INSTANTIATE_TEST_SUITE_P(All, OtherSteps, testing::ValuesIn(kNone),
                         [](const auto& all) { return std::string(all.param.name); });

}  // namespace
}  // namespace soapstone::transforms
