// Rules about windows are stated, not believed: here each of them is proved.
#include "transforms/receptive/shifts.h"
#include "transforms/receptive/stepped.h"
#include "transforms/receptive/windows.h"

#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

TEST(WindowProofs, AreFound) {
  const auto plans = transforms::find_windows(graph_of(R"(graph g
  x: f32[2, 4, 9, 8]
  z: f32[2, 3, 9, 8]
  u: f32[2, 4, 9, 8]
  a = full(; shape=[4, 2, 3, 3], value=0.5)
  b = full(; shape=[4, 2, 5, 1], value=0.25)
  c = full(; shape=[4], value=0.5)
  d = full(; shape=[4, 4, 3, 3], value=0.5)
  e = full(; shape=[4, 3, 1, 1], value=0.5)
  f = full(; shape=[6, 4, 2, 2], value=0.5)
  k = full(; shape=[6], value=0.5)
  g1 = conv(x, a, c; pads=[2, 2, 2, 2], dilations=[2, 2], group=2)
  g2 = conv(x, b; pads=[2, 0, 2, 0], group=2)
  s = add(g1, g2)
  h1 = conv(x, d, c; pads=[1, 1, 1, 1])
  h2 = conv(z, e, c)
  t1 = add(h1, u)
  t = add(t1, h2)
  k1 = conv(s, d; strides=[2, 1], pads=[1, 1, 1, 1])
  k2 = conv(s, f, k; strides=[2, 1], pads=[0, 0, 1, 1])
  k3 = relu(k1)
  y = concat(k3, k2; axis=1)
  return y, t
)"));
  ASSERT_EQ(plans.size(), 3U);
  expect_steps_proved(plans);
}

/// Behind a convolution and functions of its elements, before one, and of means.
TEST(WindowProofs, OfStepsAndMeansAreFound) {
  const auto plans = transforms::find_stepped_windows(graph_of(R"(graph g
  x: f32[2, 4, 9, 8]
  a = full(; shape=[6, 4, 3, 3], value=0.5)
  b = full(; shape=[6], value=0.5)
  c = full(; shape=[6, 1, 1], value=0.25)
  d = full(; shape=[4, 1, 3, 3], value=0.5)
  p = conv(x, a, b; pads=[1, 1, 1, 1])
  q = mul(p, c)
  r = relu(q)
  y = slice(r; axes=[2, 3], starts=[1, 0], sizes=[4, 4], steps=[2, 2])
  s = slice(x; axes=[3], starts=[0], sizes=[4], steps=[2])
  z = conv(s, d; pads=[1, 1, 1, 1], group=4)
  t = conv(x, a, b; pads=[1, 1, 1, 1])
  u = average_pool(t; kernel=[3, 2], strides=[2, 2])
  return y, z, u
)"));
  ASSERT_EQ(plans.size(), 3U);
  expect_steps_proved(plans);
}

TEST(WindowProofs, OfChannelsThatMoveAreFound) {
  const auto plans = transforms::find_shifted_joins(graph_of(R"(graph g
  x: f32[1, 5, 6, 4]
  w = full(; shape=[3, 5, 1, 1], value=0.5)
  o = full(; shape=[1, 2, 1, 4], value=0.0)
  p, q, r = split(x; axis=1, sizes=[2, 2, 1])
  a = slice(p; axes=[2], starts=[1], sizes=[5], steps=[1])
  b = slice(q; axes=[2], starts=[0], sizes=[5], steps=[1])
  c = concat(a, o; axis=2)
  d = concat(o, b; axis=2)
  j = concat(c, d, r; axis=1)
  y = conv(j, w)
  return y
)"));
  ASSERT_EQ(plans.size(), 1U);
  expect_steps_proved(plans);
}

TEST(WindowProofs, OfPairsInGroupsAreFound) {
  const auto plans = transforms::find_windows(graph_of(R"(graph g
  x: f32[1, 4, 8, 9]
  a = full(; shape=[4, 1, 1, 5], value=0.5)
  b = full(; shape=[4, 1, 1, 3], value=0.25)
  c = full(; shape=[4], value=0.5)
  d = full(; shape=[4, 1, 5, 1], value=0.5)
  e = full(; shape=[4, 1, 3, 1], value=0.25)
  p = conv(x, a, c; pads=[0, 2, 0, 2], group=4)
  q = conv(x, b; pads=[0, 1, 0, 1], group=4)
  p1 = relu(p)
  q1 = relu(q)
  r = conv(p1, d, c; pads=[2, 0, 2, 0], group=4)
  s = conv(q1, e; pads=[1, 0, 1, 0], group=4)
  t = add(x, r)
  y = add(t, s)
  return y
)"));
  ASSERT_EQ(plans.size(), 1U);
  expect_steps_proved(plans);
}

}  // namespace
}  // namespace soapstone::verifier
