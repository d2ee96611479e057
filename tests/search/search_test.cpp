#include "search/search.h"

#include "cost/cost_model.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

SearchResult run(const core::Graph& graph, const rules::RuleSet& rules, SearchOptions options) {
  options.time_s = 0;
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
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
