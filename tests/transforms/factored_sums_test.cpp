// Sums of products: that what their terms share is multiplied once, and that the rules hold.
#include "transforms/contract/factored_sums.h"

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/sum_graphs.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::Not;

int products_in(const Rule& rule) {
  int count = 0;
  for (const core::NodeId id : rule.target.order()) {
    const std::string& op = rule.target.node(id).op->name;
    count += op == "matmul" || op == "einsum";
  }
  return count;
}

class SumRules : public testing::TestWithParam<ProductGraph> {};

TEST_P(SumRules, AreMadeAndHold) {
  const auto plans = find_factored_sums(graph_of(product_graph(GetParam())));
  ASSERT_THAT(plans, Not(IsEmpty()));
  EXPECT_EQ(steps_without_rules(plans), 0U);
  const auto rules = made_rules(plans);
  expect_rules_hold(rules, 5);
  EXPECT_EQ(products_in(rules.back()), GetParam().products) << print(rules.back());
}

INSTANTIATE_TEST_SUITE_P(All, SumRules, testing::ValuesIn(kSumGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

/// What has nothing in common, is broadcast before it is summed, or cancels in squares is left.
TEST(FactoredSums, AreLeftWhereNothingIsShared) {
  for (const char* nodes : {"  s = matmul(x, a)\n  t = matmul(z, b)\n  y = add(s, t)\n",
                            "  s = matmul(x, a)\n  y = add(s, c)\n",
                            "  s = matmul(x, a)\n  d = sub(s, c)\n  y = mul(d, d)\n"})
    EXPECT_THAT(find_factored_sums(graph_of(fmt::format(
                    "graph g\n  x: f32[6, 5]\n  z: f32[6, 5]\n  a: f32[5, 3]\n  b: f32[5, 3]\n"
                    "  c: f32[3]\n{}  return y\n",
                    nodes))),
                IsEmpty())
        << nodes;
}

/// Minus infinity along the other axis makes a row of no numbers.
TEST(FactoredSums, KeepMasksThatAreAdded) {
  EXPECT_THAT(find_factored_sums(graph_of(R"(graph g
  x: f32[6, 5]
  w: f32[5, 3]
  mask: f32[6, 1]
  s = matmul(x, w)
  t = add(s, mask)
  y = softmax(t; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(FactoredSums, KeepWhatIsReadElsewhere) {
  const auto rules = made_rules(find_factored_sums(graph_of(R"(graph g
  x: f32[6, 5]
  z: f32[6, 5]
  w: f32[5, 3]
  s = matmul(x, w)
  t = matmul(z, w)
  y = add(s, t)
  return y, s
)")));
  EXPECT_THAT(rules, IsEmpty());
}

/// Of [12, 5] tensors: products with matrices on both sides, sums with earlier ones, numbers.
std::string random_sum(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> made{"x", "z"};
  std::string nodes;
  const auto any = [&] { return made[random() % made.size()]; };
  const auto add = [&](const std::string& call) {
    made.push_back(fmt::format("t{}", made.size()));
    nodes += fmt::format("  {} = {}\n", made.back(), call);
  };
  for (int k = 0; k < 7; ++k) {
    const std::string last = k == 0 ? any() : made.back();
    switch (random() % 6) {
    case 0:
      add(fmt::format("matmul({}, {})", random() % 2 == 0 ? "l" : "s", last));
      break;
    case 1:
      add(fmt::format("matmul({}, {})", last, random() % 2 == 0 ? "w" : "v"));
      break;
    case 2:
      add(fmt::format("sub({}, {})", any(), last));
      break;
    case 3:
      add(fmt::format("{}({}, {})", random() % 2 == 0 ? "mul" : "add", last,
                      random() % 2 == 0 ? "c" : "o"));
      break;
    default:
      add(fmt::format("add({}, {})", last, any()));
    }
  }
  return fmt::format(
      "graph g\n  x: f32[12, 5]\n  z: f32[12, 5]\n  o: f32[5]\n  l: f32[12, 12]\n  w: f32[5, 5]\n"
      "  v = full(; shape=[5, 5], value=0.5)\n  c = full(; shape=[], value=-1.5)\n"
      "  i = eye(; shape=[12, 12])\n  s = add(l, i)\n{}  y = exp({})\n  return y\n",
      nodes, made.back());
}

TEST(FactoredSums, AtRandomHold) {
  std::size_t rules = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::string text = random_sum(seed);
    SCOPED_TRACE(text);
    const auto made = made_rules(find_factored_sums(graph_of(text)));
    expect_rules_hold(made, 1);
    rules += made.size();
  }
  EXPECT_GT(rules, 60U);
}

}  // namespace
}  // namespace soapstone::transforms
