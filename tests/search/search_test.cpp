#include "search/search.h"

#include "cost/cost_model.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

SearchResult run(const core::Graph& graph, const rules::RuleSet& rules, SearchOptions options,
                 runtime::Fusion fusion = runtime::Fusion::kFull) {
  options.time_s = 0;
  const auto cost = cost::make_roofline_cost(fusion);
  const core::StopToken stop;
  verifier::Admission admission(rules, {.allow_unproved = true});
  return search(graph, admission, *cost, options, core::silent(), stop);
}

TEST(Search, FindsTheMergedMatmul) {
  const auto graph = parallel_matmuls(2);
  const SearchResult result = run(graph, rules_of(kMergeMatmuls), {.alpha = 2});
  ASSERT_FALSE(result.best.empty());
  EXPECT_LT(result.best[0].cost_us, result.cost_before.total_us);
  ASSERT_EQ(result.best[0].steps.size(), 1U);
  EXPECT_EQ(result.best[0].steps[0].base_rule, "merge_matmuls");
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
}

TEST(Search, StepsAddUpToTheGain) {
  const auto graph = parallel_matmuls(4);
  const auto rules = rules_of(kMergeMatmuls);
  const SearchResult result = run(graph, rules, {.alpha = 2, .budget = 50});
  ASSERT_FALSE(result.best.empty());
  double gain = 0;
  for (const Step& step : result.best[0].steps) gain += step.gain_us;
  EXPECT_NEAR(gain, result.cost_before.total_us - result.best[0].cost_us, 1e-9);
  core::Graph last = graph;
  for_each_graph(graph, rules, result.best[0].steps, [&](const Step&, const core::Graph& after) {
    last = after;
    return true;
  });
  EXPECT_EQ(last.hash(), result.best[0].graph.hash());
}

TEST(Search, IsTheSameForAnyNumberOfThreads) {
  const auto graph = parallel_matmuls(5);
  const auto rules = rules_of(kMergeMatmuls);
  const SearchResult one = run(graph, rules, {.alpha = 1.5, .budget = 40, .jobs = 1});
  for (const int jobs : {2, 7}) {
    const SearchResult many = run(graph, rules, {.alpha = 1.5, .budget = 40, .jobs = jobs});
    EXPECT_EQ(many.graphs_expanded, one.graphs_expanded);
    EXPECT_EQ(many.graphs_built, one.graphs_built);
    EXPECT_EQ(many.duplicates, one.duplicates);
    ASSERT_EQ(many.best.size(), one.best.size());
    for (std::size_t k = 0; k < one.best.size(); ++k) {
      EXPECT_EQ(many.best[k].graph.hash(), one.best[k].graph.hash());
      EXPECT_EQ(many.best[k].cost_us, one.best[k].cost_us);
    }
  }
}

/// Blocks in a row that can each be improved, with weights of their own.
core::Graph merging_blocks(std::size_t count) {
  core::GraphBuilder builder("merging_blocks");
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<core::TensorId> sides;
    for (int side = 0; side < 3; ++side) {
      const auto w = builder.add_constant(weights(8, 8, static_cast<float>(3 * k) + 0.1F * side));
      const auto y = ops::append(builder, "matmul", {x, w});
      sides.push_back((*ops::append(builder, "relu", {(*y)[0]}))[0]);
    }
    const auto sum = ops::append(builder, "add", {sides[0], sides[1]});
    x = (*ops::append(builder, "add", {(*sum)[0], sides[2]}))[0];
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

TEST(Search, RepeatedBlocksAreSearchedOnceAndImprovedEverywhere) {
  constexpr std::size_t kBlocks = 40;
  const auto graph = merging_blocks(kBlocks);
  const auto rules = rules_of(kMergeMatmuls);
  const SearchResult result = run(graph, rules, {}, runtime::Fusion::kNone);
  ASSERT_FALSE(result.best.empty());
  EXPECT_EQ(result.best[0].steps.size(), 2 * kBlocks);
  EXPECT_LT(5 * result.regions_searched, result.regions);
  core::Graph last = graph;
  double gain = 0;
  for_each_graph(graph, rules, result.best[0].steps, [&](const Step& step, const core::Graph& now) {
    last = now;
    gain += step.gain_us;
    return true;
  });
  EXPECT_TRUE(same_structure(last, result.best[0].graph));
  EXPECT_NEAR(gain, result.cost_before.total_us - result.best[0].cost_us, 1e-6);
  for (const int jobs : {1, 2, 7}) {
    const SearchResult again = run(graph, rules, {.jobs = jobs}, runtime::Fusion::kNone);
    ASSERT_FALSE(again.best.empty());
    EXPECT_EQ(again.best[0].graph.hash(), result.best[0].graph.hash());
    EXPECT_EQ(again.best[0].cost_us, result.best[0].cost_us);
    EXPECT_EQ(again.graphs_expanded, result.graphs_expanded);
    EXPECT_EQ(again.graphs_built, result.graphs_built);
    EXPECT_EQ(again.regions_searched, result.regions_searched);
  }
}

TEST(Search, GoesOnWithLittleMemory) {
  const SearchResult result =
      run(parallel_matmuls(6), rules_of(kMergeMatmuls), {.alpha = 2, .memory_mib = 0.001});
  EXPECT_FALSE(result.best.empty());
  EXPECT_LE(result.graphs_built, 100U);
}

TEST(Search, KeepsWithinTheBudget) {
  const SearchResult result =
      run(parallel_matmuls(6), rules_of(kMergeMatmuls), {.alpha = 2, .budget = 7});
  EXPECT_EQ(result.graphs_expanded, 7U);
  EXPECT_EQ(result.stop_reason, StopReason::kBudget);
}

TEST(Search, AlphaOneFollowsOnlyImprovements) {
  const SearchResult result =
      run(parallel_matmuls(3), rules_of(kMergeMatmuls), {.alpha = 1, .budget = 100});
  double last = result.cost_before.total_us;
  for (const Candidate& candidate : result.best) {
    for (const Step& step : candidate.steps) EXPECT_GE(step.gain_us, 0);
    last = std::min(last, candidate.cost_us);
  }
  EXPECT_LE(last, result.cost_before.total_us);
}

TEST(Search, AppliesNothingUnproved) {
  const auto rules = rules_of(kMergeMatmuls);
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  verifier::Admission admission(rules);
  const SearchResult result =
      search(parallel_matmuls(2), admission, *cost, {.alpha = 2, .time_s = 0}, core::silent(), {});
  EXPECT_TRUE(result.best.empty());
  EXPECT_EQ(result.graphs_built, 0U);
}

TEST(Search, StopsWhenAskedTo) {
  core::StopToken stop;
  stop.request_stop();
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  const auto rules = rules_of(kMergeMatmuls);
  verifier::Admission admission(rules, {.allow_unproved = true});
  const SearchResult result =
      search(parallel_matmuls(3), admission, *cost, {}, core::silent(), stop);
  EXPECT_EQ(result.stop_reason, StopReason::kInterrupted);
  EXPECT_EQ(result.graphs_expanded, 0U);
}

TEST(Search, WithoutRulesNothingIsFound) {
  const SearchResult result = run(parallel_matmuls(2), rules::RuleSet({}), {});
  EXPECT_TRUE(result.best.empty());
  EXPECT_EQ(result.graphs_expanded, 1U);
}

}  // namespace
}  // namespace soapstone::search
