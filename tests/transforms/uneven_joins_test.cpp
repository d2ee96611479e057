// Joins of tensors of unlike sizes: what is done to each of them is done to the join.
#include "transforms/layout_changes/uneven_joins.h"

#include <ostream>
#include <string>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

struct Joined {
  std::string_view name, nodes;
  std::size_t steps;
};
void PrintTo(const Joined& joined, std::ostream* out) { *out << joined.name; }

constexpr Joined kJoined[] = {
    {"boxes_of_two_scales",
     "  a: f32[1, 3, 4, 4, 5]\n  b: f32[1, 3, 2, 2, 5]\n"
     "  p = full(; shape=[1, 1, 4, 4, 2], value=0.5)\n"
     "  q = full(; shape=[1, 1, 2, 2, 2], value=0.25)\n"
     "  m = full(; shape=[1, 3, 1, 1, 2], value=3.0)\n"
     "  n = full(; shape=[1, 3, 1, 1, 2], value=2.0)\n"
     "  c = full(; shape=[], value=8.0)\n  d = full(; shape=[], value=16.0)\n"
     "  e = full(; shape=[2], value=2.0)\n"
     "  sa = sigmoid(a)\n  sb = sigmoid(b)\n"
     "  a1, a2, a3 = split(sa; axis=4, sizes=[2, 2, 1])\n"
     "  b1, b2, b3 = split(sb; axis=4, sizes=[2, 2, 1])\n"
     "  a4 = mul(a1, e)\n  b4 = mul(b1, e)\n"
     "  a5 = add(a4, p)\n  b5 = add(b4, q)\n  a6 = mul(a5, c)\n  b6 = mul(b5, d)\n"
     "  a7 = mul(a2, a2)\n  b7 = mul(b2, b2)\n  a8 = mul(a7, m)\n  b8 = mul(b7, n)\n"
     "  a9 = concat(a6, a8, a3; axis=4)\n  b9 = concat(b6, b8, b3; axis=4)\n"
     "  ar = reshape(a9; shape=[1, 48, 5])\n  br = reshape(b9; shape=[1, 12, 5])\n"
     "  y = concat(ar, br; axis=1)\n",
     10},
    {"channels",
     "  a: f32[2, 3, 4]\n  b: f32[2, 5, 4]\n  c: f32[2, 3, 1]\n  d: f32[2, 5, 1]\n"
     "  e: f32[2, 1, 4]\n"
     "  p = mul(a, c)\n  q = mul(b, d)\n  r = add(e, p)\n  s = add(e, q)\n"
     "  y = concat(r, s; axis=1)\n",
     3},
    {"cut_rows",
     "  a: f32[6, 4]\n  b: f32[6, 3]\n"
     "  p = slice(a; axes=[0], starts=[1], sizes=[4], steps=[1])\n"
     "  q = slice(b; axes=[0], starts=[1], sizes=[4], steps=[1])\n"
     "  r = relu(p)\n  s = relu(q)\n  y = concat(r, s; axis=1)\n",
     2},
};

class UnevenJoins : public testing::TestWithParam<Joined> {};

TEST_P(UnevenJoins, AreMadeAndHold) {
  const auto plans = find_uneven_joins(graph_of("graph " + std::string(GetParam().name) + "\n" +
                                                std::string(GetParam().nodes) + "  return y\n"));
  ASSERT_THAT(plans, SizeIs(1));
  EXPECT_THAT(plans[0].steps, SizeIs(GetParam().steps));
  const auto rules = made_rules(plans);
  EXPECT_THAT(rules, SizeIs(GetParam().steps));
  expect_rules_hold(rules, 3);
}

INSTANTIATE_TEST_SUITE_P(All, UnevenJoins, testing::ValuesIn(kJoined),
                         [](const auto& joined) { return std::string(joined.param.name); });

TEST(UnevenJoin, StaysWhereOneIsMadeOfTheOther) {
  EXPECT_THAT(find_uneven_joins(graph_of(R"(graph g
  a: f32[2, 3]
  b = relu(a)
  c = relu(b)
  y = concat(b, c; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(UnevenJoin, StaysWhereFunctionsDiffer) {
  EXPECT_THAT(find_uneven_joins(graph_of(R"(graph g
  a: f32[2, 3]
  b: f32[2, 4]
  p = leaky_relu(a; alpha=0.25)
  q = leaky_relu(b; alpha=0.5)
  y = concat(p, q; axis=1)
  return y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
