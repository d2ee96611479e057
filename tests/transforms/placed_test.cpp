// Rules that no search finds: what is known of their place is all that is needed to match them.
#include <array>

#include <fmt/format.h>

#include "rules/matching/match_at.h"
#include "rules/saturation/saturate.h"
#include "tests/rules/rules_fixture.h"
#include "tests/transforms/holds.h"
#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The source falls into two parts that share no tensor.
constexpr std::string_view kPlaced = R"(
rule two_products
  x1: [n, m]   x2: [n, m]   w1: [m, k]   w2: [m, k]
  placed
  source
    y1 = matmul(x1, w1)
    y2 = matmul(x2, w2)
  target
    a1 = reshape(x1; shape=[1, n, m])
    a2 = reshape(x2; shape=[1, n, m])
    b1 = reshape(w1; shape=[1, m, k])
    b2 = reshape(w2; shape=[1, m, k])
    a = concat(a1, a2; axis=0)
    b = concat(b1, b2; axis=0)
    y = matmul(a, b)
    t1, t2 = split(y; axis=0, sizes=[1, 1])
    y1 = reshape(t1; shape=[n, k])
    y2 = reshape(t2; shape=[n, k])
)";

Graph two_products(std::string_view type = "f32", std::string_view of_second = "f32",
                   std::string_view second = "[2, 3]") {
  const auto declared = [](std::string_view name, std::string_view of, std::string_view shape) {
    return "  " + std::string(name) + ": " + std::string(of) + std::string(shape) + "\n";
  };
  return graph_of("graph g\n" + declared("a", type, "[2, 3]") + declared("b", of_second, second) +
                  declared("v", type, "[3, 4]") + declared("w", of_second, "[3, 4]") +
                  "  p = matmul(a, v)\n  q = matmul(b, w)\n  return p, q\n");
}

std::vector<NodeId> nodes_of(const Graph& graph) {
  return {graph.order().begin(), graph.order().end()};
}
/// In the order of the rule's inputs, which is that of the graph's.
std::vector<TensorId> inputs_of(const Graph& graph) {
  return {graph.inputs().begin(), graph.inputs().end()};
}

TEST(PlacedRule, IsReadAsItIsPrinted) {
  const Rule rule = rule_of(kPlaced);
  EXPECT_TRUE(rule.is_placed);
  const std::string text = print(rule);
  EXPECT_THAT(text, testing::HasSubstr("\n  placed\n"));
  const Rule again = rule_of(text);
  EXPECT_TRUE(again.is_placed);
  EXPECT_EQ(print(again), text);
  EXPECT_FALSE(rule_of(kMergeMatmuls).is_placed);
}

TEST(PlacedRule, MayFallIntoPartsAsNoOtherMay) {
  std::string text(kPlaced);
  const std::string_view word = "  placed\n";
  text.erase(text.find(word), word.size());
  EXPECT_FALSE(parse_rules(text).ok());
}

TEST(PlacedRule, NoSearchFindsIt) {
  const Graph graph = two_products();
  EXPECT_THAT(all_matches(RuleSet(rules_of(kPlaced)), graph), testing::IsEmpty());
  // Beside it others are found under their own numbers.
  const RuleSet both(rules_of(std::string(kPlaced) + R"(
rule any_product
  x: [n, m]   w: [m, k]
  source
    y = matmul(x, w)
  target
    s = neg(x)
    t = matmul(s, w)
    y = neg(t)
)"));
  const auto found = all_matches(both, graph);
  ASSERT_EQ(found.size(), 2U);
  for (const FoundMatch& match : found) EXPECT_EQ(match.rule, core::RuleId(1));
}

TEST(PlacedRule, NoSaturationUsesIt) {
  const Graph graph = two_products();
  EGraph classes;
  std::vector<ClassId> inputs;
  for (const TensorId id : graph.inputs())
    inputs.push_back(
        classes.add_input(static_cast<std::uint32_t>(inputs.size()), graph.tensor(id).type));
  classes.add_graph(graph, inputs);
  std::vector<Application> log;
  const auto rules = rules_of(kPlaced);
  saturate(classes, SaturationRules(rules), {}, nullptr, core::StopToken(), {}, &log);
  EXPECT_THAT(log, testing::IsEmpty());
}

TEST(MatchAt, FindsWhatIsAtItsPlaceAlone) {
  const Rule rule = rule_of(kPlaced);
  const Graph graph = two_products();
  const auto nodes = nodes_of(graph);
  const auto inputs = inputs_of(graph);
  const auto match = match_at(graph, rule, nodes, inputs);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->sizes, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(match->outputs, std::vector<TensorId>(graph.outputs().begin(), graph.outputs().end()));
  const auto rewritten = apply(graph, rule, *match);
  ASSERT_TRUE(rewritten.ok()) << rewritten.error().to_string();
  EXPECT_EQ(field_outputs(*rewritten, 7), field_outputs(graph, 7));

  const std::vector<NodeId> swapped = {nodes[1], nodes[0]};
  EXPECT_FALSE(match_at(graph, rule, swapped, inputs));
  EXPECT_FALSE(match_at(graph, rule, std::span(nodes).first(1), inputs));
  EXPECT_FALSE(match_at(graph, rule, nodes, std::span(inputs).first(3)));
  const std::vector<NodeId> gone = {nodes[0], NodeId(77)};
  EXPECT_FALSE(match_at(graph, rule, gone, inputs));
}

TEST(MatchAt, RefusesOtherSizes) {
  const Rule rule = rule_of(kPlaced);
  const Graph graph = two_products("f32", "f32", "[5, 3]");
  EXPECT_FALSE(match_at(graph, rule, nodes_of(graph), inputs_of(graph)));
}

TEST(MatchAt, TakesOneFloatingType) {
  const Rule rule = rule_of(kPlaced);
  const Graph narrow = two_products("f16", "f16");
  const auto match = match_at(narrow, rule, nodes_of(narrow), inputs_of(narrow));
  ASSERT_TRUE(match);
  EXPECT_EQ(match->float_type, core::DataType::kFloat16);
  const Graph mixed = two_products("f16", "f32");
  EXPECT_FALSE(match_at(mixed, rule, nodes_of(mixed), inputs_of(mixed)));
}

TEST(MatchAt, RefusesOtherOperatorsAndAttributes) {
  const Rule rule = rule_of("x: [n, m]\n  results y, z", "y = softmax(x; axis=1)\n    z = neg(y)",
                            "y = softmax(x; axis=1)\n    t = abs(y)\n    z = neg(t)");
  const auto is_met = [&](std::string_view first, std::string_view second) {
    const Graph graph = graph_of("graph g\n  x: f32[2, 2]\n  y = " + std::string(first) +
                                 "\n  z = " + std::string(second) + "\n  return y, z\n");
    return match_at(graph, rule, nodes_of(graph), inputs_of(graph)).has_value();
  };
  EXPECT_TRUE(is_met("softmax(x; axis=1)", "neg(y)"));
  EXPECT_FALSE(is_met("softmax(x; axis=0)", "neg(y)"));
  EXPECT_FALSE(is_met("log_softmax(x; axis=1)", "neg(y)"));
  EXPECT_FALSE(is_met("softmax(x; axis=1)", "abs(y)"));
}

TEST(MatchAt, AsksTheGuard) {
  const Graph product = graph_of("graph g\n  x: f32[2, 3]\n  y = neg(x)\n  return y\n");
  const auto finds = [&](std::string_view guard) {
    const Rule rule = rule_of(fmt::format("rule r\n  x: [n, m]{}\n  source\n    y = neg(x)\n"
                                          "  target\n    s = abs(x)\n    y = sub(s, s)\n",
                                          guard));
    return match_at(product, rule, nodes_of(product), inputs_of(product)).has_value();
  };
  EXPECT_TRUE(finds(""));
  EXPECT_TRUE(finds("\n  where n < m"));
  EXPECT_FALSE(finds("\n  where m <= n"));
  EXPECT_FALSE(finds("\n  where n = m"));
}

/// Values of parameters would have to be found.
TEST(MatchAt, RefusesWhatTakesASearch) {
  const auto finds = [&](const Rule& rule, const Graph& graph) {
    return match_at(graph, rule, nodes_of(graph), inputs_of(graph)).has_value();
  };
  const Graph leaky =
      graph_of("graph g\n  x: f32[2, 3]\n  y = leaky_relu(x; alpha=0.5)\n  return y\n");
  const auto leaks = [](std::string_view alpha) {
    return rule_of("x: [n, m]", "y = leaky_relu(x; alpha=" + std::string(alpha) + ")",
                   "s = leaky_relu(x; alpha=" + std::string(alpha) +
                       ")\n    t = neg(s)\n"
                       "    y = neg(t)");
  };
  EXPECT_TRUE(finds(leaks("0.5"), leaky));
  EXPECT_FALSE(finds(leaks("a"), leaky));
}

TEST(MatchAt, AsksForConstantsAndNumbers) {
  const Rule weights = rule_of("x: [n, m]   w: [n, m] constant", "y = add(x, w)", "y = add(w, x)");
  const auto sum_with = [](std::string_view operand) {
    return graph_of("graph g\n  x: f32[1, 2]\n" + std::string(operand) +
                    "  y = add(x, w)\n  return y\n");
  };
  const Graph constant = sum_with("  w: f32[1, 2] = {1, 2}\n"), free = sum_with("  w: f32[1, 2]\n");
  const auto at = [](const Graph& graph, const Rule& rule) {
    const core::Node& node = graph.node(graph.order()[0]);
    return match_at(graph, rule, nodes_of(graph), node.inputs).has_value();
  };
  EXPECT_TRUE(at(constant, weights));
  EXPECT_FALSE(at(free, weights));
}

TEST(MatchAt, BindsSizesWithAFactor) {
  const Rule halves = rule_of("x: [2*n, 3]", "y = reshape(x; shape=[n, 6])",
                              "t = reshape(x; shape=[n, 2, 3])\n    y = reshape(t; shape=[n, 6])");
  const auto finds = [&](std::string_view graph) {
    const Graph met = graph_of(graph);
    return match_at(met, halves, nodes_of(met), met.inputs()).has_value();
  };
  EXPECT_TRUE(finds("graph g\n  x: f32[10, 3]\n  y = reshape(x; shape=[5, 6])\n  return y\n"));
  EXPECT_FALSE(finds("graph g\n  x: f32[9, 3]\n  y = reshape(x; shape=[9, 3])\n  return y\n"));
}

TEST(OpenSizes, AreSymbolsAndTheirProducts) {
  EXPECT_THAT(with_open_sizes("rule r\n  x8: [1, 56, 28, 10]\n  c: [] = {64}\n"
                              "    y = slice(x8; axes=[2], starts=[28])\n"
                              "    z = reshape(y; shape=[784, 2*n9, 280])\n"),
              ElementsAre("rule r\n  x8: [1, 2*u28, u28, u10]\n  c: [] = {64}\n"
                          "    y = slice(x8; axes=[2], starts=[u28])\n"
                          "    z = reshape(y; shape=[u28*u28, 2*n9, u10*u28])\n"));
  EXPECT_THAT(with_open_sizes("rule r\n  x: [2, 7, n]\n    y = pad(x; value=12)\n"), IsEmpty());
}

TEST(OpenSizes, LeaveProductsOfSmallNumbersAsTheyAre) {
  EXPECT_THAT(with_open_sizes("rule r\n  x: [9, 7, 7]\n    y = reshape(x; shape=[9, 49])\n"
                              "    z = reshape(y; shape=[441])\n"),
              ElementsAre("rule r\n  x: [u9, 7, 7]\n    y = reshape(x; shape=[u9, u49])\n"
                          "    z = reshape(y; shape=[u9*u49])\n",
                          "rule r\n  x: [u9, 7, 7]\n    y = reshape(x; shape=[u9, 49])\n"
                          "    z = reshape(y; shape=[49*u9])\n"));
}

}  // namespace
}  // namespace soapstone::transforms
