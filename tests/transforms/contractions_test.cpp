// Products of several tensors: that a cheaper order is found, and that its rule holds.
#include "transforms/contract/contractions.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/contraction_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ProductRules : public testing::TestWithParam<ProductGraph> {
 protected:
  static void expect_one(const std::vector<RewriteSequence>& plans) {
    ASSERT_THAT(plans, SizeIs(1));
    const auto rules = made_rules(plans);
    ASSERT_THAT(rules, SizeIs(1));
    expect_rules_hold(rules, 5);
    int products = 0;
    for (const core::NodeId id : rules[0].target.order()) {
      const core::OpSchema& op = *rules[0].target.node(id).op;
      products += op.movement == core::Movement::kNone;
    }
    EXPECT_EQ(products, GetParam().products) << print(rules[0]);
  }
};

TEST_P(ProductRules, AreMadeAndHold) {
  expect_one(find_contractions(graph_of(product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ProductRules, testing::ValuesIn(kProductGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

using ScaledRules = ProductRules;

TEST_P(ScaledRules, ScaleWhereThereIsLeast) {
  const core::Graph graph = graph_of(product_graph(GetParam()));
  EXPECT_THAT(find_contractions(graph), IsEmpty());
  expect_one(find_scaled_products(graph));
}

INSTANTIATE_TEST_SUITE_P(All, ScaledRules, testing::ValuesIn(kScaledGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(ScaledProducts, WithoutSumsAreLeft) {
  EXPECT_THAT(find_scaled_products(graph_of(R"(graph g
  x: f32[6, 7]
  a: f32[7]
  b: f32[7]
  s = mul(x, a)
  y = mul(s, b)
  return y
)")),
              IsEmpty());
}

class StridedRules : public testing::TestWithParam<ProductGraph> {};

TEST_P(StridedRules, HaveNoTransposes) {
  const core::Graph graph = graph_of(product_graph(GetParam()));
  EXPECT_THAT(find_contractions(graph), IsEmpty());
  const auto rules = made_rules(find_strided_products(graph));
  ASSERT_THAT(rules, SizeIs(1));
  expect_rules_hold(rules, 5);
  for (const core::NodeId id : rules[0].target.order())
    EXPECT_NE(rules[0].target.node(id).op->movement, core::Movement::kPermute) << print(rules[0]);
}

INSTANTIATE_TEST_SUITE_P(All, StridedRules, testing::ValuesIn(kStridedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(StridedProducts, WithoutTransposesAreLeft) {
  EXPECT_THAT(find_strided_products(graph_of(R"(graph g
  a: f32[6, 7]
  b: f32[7, 8]
  y = matmul(a, b)
  return y
)")),
              IsEmpty());
}

TEST(Contractions, AreLeftInTheBestOrder) {
  EXPECT_THAT(find_contractions(graph_of(R"(graph g
  a: f32[60, 70]
  b: f32[70, 80]
  c: f32[80, 1]
  s = matmul(b, c)
  y = matmul(a, s)
  return y
)")),
              IsEmpty());
}

TEST(Contractions, KeepWhatIsReadElsewhere) {
  EXPECT_THAT(find_contractions(graph_of(R"(graph g
  a: f32[60, 70]
  b: f32[70, 80]
  c: f32[80, 1]
  s = matmul(a, b)
  y = matmul(s, c)
  return y, s
)")),
              IsEmpty());
}

TEST(Contractions, WithDiagonalsAreLeft) {
  EXPECT_THAT(find_contractions(graph_of(R"(graph g
  a: f32[60, 60]
  b: f32[60, 80]
  c: f32[80, 1]
  s = einsum(a, b; equation="aa,ac->ac")
  y = matmul(s, c)
  return y
)")),
              IsEmpty());
}

/// Equations of random letters, each of what the last one made and a new tensor.
std::string random_products(unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<int> sizes{2, 3, 50, 4, 40};
  const std::string letters = "abcde";
  const auto drawn = [&](std::size_t least) {
    std::string some;
    for (const char letter : letters)
      if (random() % 2 == 0) some += letter;
    while (some.size() < least) some = letters.substr(0, least);
    std::shuffle(some.begin(), some.end(), random);
    return some;
  };
  const auto shape = [&](const std::string& labels) {
    std::vector<int> dims;
    for (const char letter : labels) dims.push_back(sizes[static_cast<std::size_t>(letter - 'a')]);
    return fmt::format("[{}]", fmt::join(dims, ", "));
  };
  std::string now = drawn(2), name = "x0", nodes;
  std::string inputs = fmt::format("  x0: f32{}\n", shape(now));
  for (int k = 1; k < 4; ++k) {
    const std::string other = drawn(1);
    std::string result;
    for (const char letter : now + other)
      if (result.find(letter) == std::string::npos && random() % 3 != 0) result += letter;
    std::shuffle(result.begin(), result.end(), random);
    inputs += fmt::format("  x{}: f32{}\n", k, shape(other));
    nodes += fmt::format("  t{} = einsum({}, x{}; equation=\"{},{}->{}\")\n", k, name, k, now,
                         other, result);
    name = fmt::format("t{}", k);
    now = result;
  }
  return fmt::format("graph g\n{}{}  y = exp({})\n  return y\n", inputs, nodes, name);
}

TEST(Contractions, OfRandomLettersHold) {
  std::size_t rules = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::string text = random_products(seed);
    SCOPED_TRACE(text);
    const auto made = made_rules(find_contractions(graph_of(text)));
    expect_rules_hold(made, 1);
    rules += made.size();
  }
  EXPECT_GT(rules, 100U);
}

}  // namespace
}  // namespace soapstone::transforms
