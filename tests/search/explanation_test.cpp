#include "search/explanation.h"

#include "cost/models/cost_model.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// Blocks in a row, each with three products of one input, all scaled by one number.
Graph blocks(std::size_t count) {
  core::GraphBuilder builder("blocks");
  TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
  for (std::size_t k = 0; k < count; ++k) {
    TensorId sum;
    for (int side = 0; side < 3; ++side) {
      const auto w = builder.add_constant(
          weights(8, 8, static_cast<float>(3 * k) + 0.1F * static_cast<float>(side)));
      const auto y = ops::append(builder, "matmul", {x, w});
      const TensorId z = (*ops::append(builder, "relu", {(*y)[0]}))[0];
      sum = side == 0 ? z : (*ops::append(builder, "add", {sum, z}))[0];
    }
    x = sum;
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

class ExplanationTest : public testing::Test {
 protected:
  SearchResult run(const Graph& graph, const rules::RuleSet& rules) {
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kNone);
    verifier::Admission admission(rules, {.allow_unproved = true});
    return search(graph, admission, *cost, {.time_s = 0}, core::silent(), {});
  }
};

TEST_F(ExplanationTest, StepsThatTouchMakeOnePlace) {
  constexpr std::size_t kBlocks = 5;
  const Graph graph = blocks(kBlocks);
  const auto rules = rule_set_of(kMergeMatmuls);
  const SearchResult result = run(graph, rules);
  ASSERT_FALSE(result.best.empty());
  const Candidate& best = result.best[0];
  const ChangedPlaces found = find_changed_places(graph, rules, best.steps);
  EXPECT_TRUE(same_structure(found.after, best.graph));
  ASSERT_EQ(found.places.size(), kBlocks);
  double gain_us = 0;
  std::vector<int> met(best.steps.size());
  for (const ChangedPlace& place : found.places) {
    gain_us += place.gain_us;
    EXPECT_EQ(place.steps.size(), 2U) << "two merges make three products one";
    for (const std::size_t step : place.steps) ++met[step];
    ASSERT_EQ(place.before.size(), 3U);
    for (const NodeId id : place.before) EXPECT_EQ(graph.node(id).op->name, "matmul");
    int products = 0;
    for (const NodeId id : place.after) products += found.after.node(id).op->name == "matmul";
    EXPECT_EQ(products, 1);
  }
  EXPECT_EQ(met, std::vector<int>(best.steps.size(), 1)) << "each step is in one place";
  EXPECT_NEAR(gain_us, result.cost_before.total_us - best.cost_us, 1e-6);
}

TEST_F(ExplanationTest, NewTensorsStandForOldOnes) {
  const Graph graph = blocks(2);
  const auto rules = rule_set_of(kMergeMatmuls);
  const SearchResult result = run(graph, rules);
  ASSERT_FALSE(result.best.empty());
  const ChangedPlaces found = find_changed_places(graph, rules, result.best[0].steps);
  // The tensor that a relu reads now stands for the one that it read before.
  int checked = 0;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op->name != "relu") continue;
    ASSERT_TRUE(found.after.contains(id));
    const TensorId old = graph.node(id).inputs[0], now = found.after.node(id).inputs[0];
    ASSERT_NE(old, now);
    ASSERT_TRUE(found.stands_for.contains(now));
    EXPECT_EQ(found.stands_for.at(now), old);
    ++checked;
  }
  EXPECT_EQ(checked, 6);
}

TEST_F(ExplanationTest, ASharedConstantJoinsNothing) {
  // Both scales use the same number, as a node that computes it.
  const Graph graph = graph_of(R"(graph g
  x: f32[4, 4]
  y: f32[4, 4]
  c = full(; shape=[4, 4], value=3)
  a = mul(x, c)
  b = mul(y, c)
  return a, b
)");
  const auto rules = rule_set_of(R"(
rule triple
  x: [n, m]
  source
    c = full(; shape=[n, m], value=3)
    y = mul(x, c)
  target
    t = add(x, x)
    y = add(t, x)
  checked 2^61-1, 10 sizes; floats: exact
)");
  std::vector<Step> steps;
  Graph now = graph;
  for (int k = 0; k < 2; ++k) {
    rules.for_each_match(now, [&](core::RuleId id, const rules::Match& match) {
      steps.push_back({rules[id].name, rules[id].base_name, id, match, 1, nullptr});
      return false;
    });
    ASSERT_EQ(steps.size(), static_cast<std::size_t>(k) + 1);
    now = *rules::apply(now, rules[steps.back().id], steps.back().match);
  }
  const ChangedPlaces found = find_changed_places(graph, rules, steps);
  ASSERT_EQ(found.places.size(), 2U);
  for (const ChangedPlace& place : found.places) {
    EXPECT_EQ(place.before.size(), 2U) << "the constant is shown where it was";
    EXPECT_EQ(place.after.size(), 2U);
  }
}

TEST_F(ExplanationTest, NoStepsNoPlaces) {
  const Graph graph = blocks(1);
  const ChangedPlaces found = find_changed_places(graph, rule_set_of(kMergeMatmuls), {});
  EXPECT_TRUE(found.places.empty());
  EXPECT_TRUE(same_structure(found.after, graph));
}

}  // namespace
}  // namespace soapstone::search
