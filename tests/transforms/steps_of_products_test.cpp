// Steps behind reshaped contractions: which go before the reshape, and that the rules hold.
#include "transforms/layout_changes/steps_of_products.h"

#include <string>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// A product of heads, joined by a reshape, and what stands behind it.
Graph heads_and(std::string_view inputs, std::string_view nodes) {
  return graph_of(fmt::format("graph g\n  p: f32[2, 3, 5, 6]\n  v: f32[2, 3, 6, 4]\n{}"
                              "  e = einsum(p, v; equation=\"abcd,abde->acbe\")\n"
                              "  r = reshape(e; shape=[2, 5, 12])\n{}",
                              inputs, nodes));
}

void expect_one_that_holds(const Graph& graph) {
  const auto rules = made_rules(find_steps_of_products(graph));
  ASSERT_THAT(rules, SizeIs(1));
  expect_rules_hold(rules, 1);
  // The reshape of the product comes last, and the step is done to the product.
  const core::Node& last = rules[0].target.node(rules[0].target.order().back());
  EXPECT_EQ(last.op->movement, core::Movement::kReshape) << print(rules[0]);
}

TEST(StepsOfProducts, GoBeforeTheReshape) {
  expect_one_that_holds(heads_and("  x: f32[2, 5, 12]\n", "  y = add(r, x)\n  return y\n"));
  expect_one_that_holds(heads_and("  b: f32[12]\n", "  y = add(b, r)\n  return y\n"));
  expect_one_that_holds(heads_and("  s: f32[5, 1]\n", "  y = div(r, s)\n  return y\n"));
  expect_one_that_holds(heads_and("  x: f32[2, 5, 12]\n", "  y = sub(x, r)\n  return y\n"));
  expect_one_that_holds(heads_and(
      "  x: f32[10, 12]\n", "  q = reshape(r; shape=[10, 12])\n  y = mul(q, x)\n  return y\n"));
}

TEST(StepsOfProducts, GoBeforeTheReshapeOneByOne) {
  const auto plans = find_steps_of_products(
      graph_of("graph g\n  x: f32[6, 4]\n  w: f32[4, 8]\n  b: f32[8]\n  z: f32[6, 2, 4]\n"
               "  m = matmul(x, w)\n  a = add(m, b)\n  r = reshape(a; shape=[6, 2, 4])\n"
               "  y = add(r, z)\n  return y\n"));
  EXPECT_THAT(plans, SizeIs(1)) << "the product has a step already";
}

TEST(StepsOfProducts, StayWhereTheOtherOperandRepeatsAPart) {
  EXPECT_THAT(find_steps_of_products(
                  graph_of("graph g\n  p: f32[2, 12]\n  v: f32[12, 12]\n  s: f32[2, 1, 4]\n"
                           "  e = matmul(p, v)\n  r = reshape(e; shape=[2, 3, 4])\n"
                           "  y = mul(r, s)\n  return y\n")),
              IsEmpty());
}

TEST(StepsOfProducts, StayWhereSomethingElseReads) {
  EXPECT_THAT(
      find_steps_of_products(heads_and("  x: f32[2, 5, 12]\n", "  y = add(r, x)\n  return y, r\n")),
      IsEmpty());
}

TEST(StepsOfProducts, AreNoneOfNothing) {
  EXPECT_THAT(find_steps_of_products(
                  graph_of("graph g\n  x: f32[0, 6]\n  w: f32[6, 12]\n  z: f32[3, 0, 4]\n"
                           "  m = matmul(x, w)\n  r = reshape(m; shape=[3, 0, 4])\n"
                           "  y = add(r, z)\n  return y\n")),
              IsEmpty());
}

TEST(StepsOfProducts, AreNoneBehindOtherOperators) {
  EXPECT_THAT(find_steps_of_products(
                  graph_of("graph g\n  x: f32[2, 12]\n  z: f32[2, 3, 4]\n  s = softmax(x; axis=1)\n"
                           "  r = reshape(s; shape=[2, 3, 4])\n  y = add(r, z)\n  return y\n")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
