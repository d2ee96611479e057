// Zeros in front of moves and convolutions, and reshapes one behind another.
#include "transforms/layout_changes/moved_pads.h"

#include <string>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/padded_graphs.h"
#include "transforms/layout_changes/moves.h"
#include "transforms/layout_changes/plain_moves.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class PadRules : public testing::TestWithParam<PaddedGraph> {};

TEST_P(PadRules, AreMadeAndHold) {
  const auto plans = find_moved_pads(graph_of(std::string(GetParam().text)));
  ASSERT_THAT(plans, SizeIs(1));
  EXPECT_THAT(plans[0].steps, SizeIs(GetParam().steps));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  expect_rules_hold(made_rules(plans), 5);
}

INSTANTIATE_TEST_SUITE_P(All, PadRules, testing::ValuesIn(kPaddedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

/// Ones around, zeros between, zeros that are channels, zeros that somebody else reads.
TEST(MovedPads, AreLeftWhereNoConvolutionTakesThem) {
  for (const char* nodes :
       {"  p = pad(x; pads=[0, 1, 0, 0, 1, 0], value=1.0)\n  t = transpose(p; perm=[0, 2, 1])\n",
        "  p = pad(x; pads=[0, 1, 0, 0, 0, 0], interior=[0, 1, 0])\n"
        "  t = transpose(p; perm=[0, 2, 1])\n",
        "  p = pad(x; pads=[0, 1, 0, 0, 1, 0])\n  t = reshape(p; shape=[1, 9, 4])\n"
        "  u = relu(p)\n"}) {
    const std::string channels =
        std::string(nodes).find("reshape") == std::string::npos ? "4" : "9";
    EXPECT_THAT(find_moved_pads(graph_of(
                    "graph g\n  x: f32[1, 7, 4]\n" + std::string(nodes) +
                    "  k = full(; shape=[5, " + channels +
                    ", 2], value=0.5)\n"
                    "  y = conv(t, k; strides=[1], pads=[0, 0], dilations=[1])\n  return y\n")),
                IsEmpty())
        << nodes;
  }
}

TEST(JoinedReshapes, AreOne) {
  const auto plans = find_joined_reshapes(graph_of(R"(graph g
  x: f32[4, 6]
  a = reshape(x; shape=[24])
  b = reshape(a; shape=[2, 12])
  c = reshape(b; shape=[4, 6])
  y = exp(c)
  u = relu(b)
  return y, u
)"));
  ASSERT_THAT(plans, SizeIs(2));
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  ASSERT_THAT(rules, SizeIs(2));
  EXPECT_EQ(rules[0].target.order().size(), 1U) << print(rules[0]);
  EXPECT_EQ(rules[1].target.order().size(), 0U) << print(rules[1]);
}

TEST(IdleMoves, AreLeftOut) {
  const auto plans = find_idle_moves(graph_of(R"(graph g
  x: f32[4, 6]
  a = transpose(x; perm=[0, 1])
  b = reshape(a; shape=[4, 6])
  c = transpose(b; perm=[1, 0])
  d = reshape(b; shape=[6, 4])
  y = add(c, d)
  return y
)"));
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  ASSERT_THAT(rules, SizeIs(2));
  for (const Rule& rule : rules) EXPECT_EQ(rule.target.order().size(), 0U) << print(rule);
}

TEST(RowsOfProducts, AreMultipliedWhereTheyLie) {
  const auto plans = find_rows_of_products(graph_of(R"(graph g
  x: f32[2, 3, 4, 5]
  w = full(; shape=[20, 7], value=0.5)
  a = reshape(x; shape=[6, 20])
  p = matmul(a, w)
  y = reshape(p; shape=[2, 3, 7])
  z = reshape(p; shape=[6, 7, 1])
  q = matmul(a, w)
  u = reshape(q; shape=[2, 3, 7])
  v = reshape(x; shape=[6, 20])
  r = matmul(v, w)
  t = reshape(r; shape=[3, 14])
  return y, z, u, t
)"));
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  ASSERT_THAT(rules, SizeIs(1));
  EXPECT_EQ(rules[0].target.order().size(), 2U) << print(rules[0]);
}

/// But one that others read, too.
TEST(JoinedJoins, AreOneAlongOneAxis) {
  const auto plans = find_joined_joins(graph_of(R"(graph g
  a: f32[4, 1]
  b: f32[4, 2]
  c: f32[4, 3]
  d: f32[4, 4]
  e: f32[8, 11]
  ab = concat(a, b; axis=1)
  abc = concat(ab, c, a; axis=1)
  read = concat(c, c; axis=1)
  v = relu(read)
  all = concat(d, abc; axis=1)
  wide = concat(all, all; axis=0)
  y = concat(wide, e; axis=0)
  u = concat(read, d; axis=1)
  return y, u, v
)"));
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  ASSERT_THAT(rules, SizeIs(2));
  EXPECT_EQ(rules[0].target.inputs().size(), 4U) << print(rules[0]);
  for (const Rule& rule : rules) EXPECT_EQ(rule.target.order().size(), 1U) << print(rule);
}

}  // namespace
}  // namespace soapstone::transforms
