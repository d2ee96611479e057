#include "search/search.h"

#include <limits>
#include <set>

#include "cost/models/cost_model.h"
#include "search/regions/region_search.h"
#include "search_fixture.h"
#include "tests/support/graphs.h"

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
  const SearchResult result = run(graph, rule_set_of(kMergeMatmuls), {.alpha = 2});
  ASSERT_FALSE(result.best.empty());
  EXPECT_LT(result.best[0].cost_us, result.cost_before.total_us);
  ASSERT_EQ(result.best[0].steps.size(), 1U);
  EXPECT_EQ(result.best[0].steps[0].base_rule, "merge_matmuls");
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
}

TEST(Search, StepsAddUpToTheGain) {
  const auto graph = parallel_matmuls(4);
  const auto rules = rule_set_of(kMergeMatmuls);
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
  const auto rules = rule_set_of(kMergeMatmuls);
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
      const auto w = builder.add_constant(
          weights(8, 8, static_cast<float>(3 * k) + 0.1F * static_cast<float>(side)));
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
  const auto rules = rule_set_of(kMergeMatmuls);
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
    EXPECT_EQ(again.graphs_expanded_whole, result.graphs_expanded_whole);
    EXPECT_EQ(again.graphs_built, result.graphs_built);
    EXPECT_EQ(again.regions_searched, result.regions_searched);
  }
}

TEST(Search, GoesOnWithLittleMemory) {
  const SearchResult result =
      run(parallel_matmuls(6), rule_set_of(kMergeMatmuls),
          {.strategy = Strategy::kBacktracking, .alpha = 2, .memory_mib = 0.001});
  EXPECT_FALSE(result.best.empty());
  EXPECT_LE(result.graphs_built, 100U);
}

TEST(Search, KeepsWithinTheBudget) {
  const SearchResult result = run(parallel_matmuls(6), rule_set_of(kMergeMatmuls),
                                  {.strategy = Strategy::kBacktracking, .alpha = 2, .budget = 7});
  EXPECT_EQ(result.graphs_expanded, 7U);
  EXPECT_EQ(result.stop_reason, StopReason::kBudget);
}

// What is no gain is looked at near its change alone: swapped sums cost the same.
TEST(Search, CountsWhatIsLookedAtAllOver) {
  const auto rules = rule_set_of("rule swap\n  x: [n]  z: [n]\n  source\n    y = add(x, z)\n"
                                 "  target\n    y = add(z, x)\n");
  const core::Graph graph = graph_of("graph g\n  x: f32[4]\n  z: f32[4]\n  t = add(x, z)\n"
                                     "  y = add(t, z)\n  return y\n");
  const SearchResult result = run(graph, rules, {.effort = 1, .alpha = 2});
  EXPECT_GT(result.graphs_expanded, 1U);
  EXPECT_EQ(result.graphs_expanded_whole, 1U);
}

TEST(Search, AlphaOneFollowsOnlyImprovements) {
  const SearchResult result =
      run(parallel_matmuls(3), rule_set_of(kMergeMatmuls), {.alpha = 1, .budget = 100});
  double last = result.cost_before.total_us;
  for (const Candidate& candidate : result.best) {
    for (const Step& step : candidate.steps) EXPECT_GE(step.gain_us, 0);
    last = std::min(last, candidate.cost_us);
  }
  EXPECT_LE(last, result.cost_before.total_us);
}

/// Cut before the offset, the product loses its fused launch; cut before the product, all is
/// smaller.
TEST(Search, CarriesASliceAsFarAsItGoes) {
  const auto rules = rule_set_of(R"(
rule slice_of_offset
  x: [m, n]  b: [n]
  source
    t = add(x, b)
    y = slice(t; axes=[0], starts=[s], sizes=[r], steps=[1])
  target
    u = slice(x; axes=[0], starts=[s], sizes=[r], steps=[1])
    y = add(u, b)
rule slice_of_product
  x: [m, k]  a: [k, n]
  source
    t = matmul(x, a)
    y = slice(t; axes=[0], starts=[s], sizes=[r], steps=[1])
  target
    u = slice(x; axes=[0], starts=[s], sizes=[r], steps=[1])
    y = matmul(u, a)
)");
  const auto graph = graph_of(R"(graph g
  x: f32[64, 64]
  a: f32[64, 4096]
  b: f32[4096]
  t = matmul(x, a)
  o = add(t, b)
  y = slice(o; axes=[0], starts=[63], sizes=[1], steps=[1])
  return y
)");
  const SearchResult result = run(graph, rules, {.alpha = 1});
  ASSERT_FALSE(result.best.empty());
  ASSERT_EQ(result.best[0].steps.size(), 2U);
  EXPECT_LT(result.best[0].steps[0].gain_us, 0);
  EXPECT_EQ(result.best[0].steps[1].base_rule, "slice_of_product");
}

/// A product with a low-rank update: merged with its sibling it could not be folded any more.
TEST(Search, FoldsBeforeItMerges) {
  const auto rules = rule_set_of(std::string(kMergeMatmuls) + R"(
rule associate
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    xa = matmul(x, a)
    y = matmul(xa, b)
  target
    ab = matmul(a, b)
    y = matmul(x, ab)
rule factor_out
  x: [m, k]   a: [k, n]   b: [k, n]
  source
    u = matmul(x, a)
    v = matmul(x, b)
    y = add(u, v)
  target
    ab = add(a, b)
    y = matmul(x, ab)
)");
  core::GraphBuilder builder;
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {16, 64}, true});
  const auto product = [&](core::TensorId with, std::int64_t rows, std::int64_t columns, int seed) {
    return (*ops::append(builder, "matmul",
                         {with, builder.add_constant(weights(rows, columns, seed))}))[0];
  };
  const auto down = product(x, 64, 4, 1), plain = product(x, 64, 64, 2),
             other = product(x, 64, 64, 3);
  const auto sum = (*ops::append(builder, "add", {plain, product(down, 4, 64, 4)}))[0];
  builder.set_outputs({sum, other});
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const SearchResult result = run(*graph, rules, {});
  ASSERT_FALSE(result.best.empty());
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  EXPECT_EQ(cost->graph_cost(result.best[0].graph).launches, 2U) << "a product and a split";
}

TEST(Search, AppliesNothingUnproved) {
  const auto rules = rule_set_of(kMergeMatmuls);
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
  const auto rules = rule_set_of(kMergeMatmuls);
  verifier::Admission admission(rules, {.allow_unproved = true});
  const SearchResult result =
      search(parallel_matmuls(3), admission, *cost, {}, core::silent(), stop);
  EXPECT_EQ(result.stop_reason, StopReason::kInterrupted);
  EXPECT_EQ(result.graphs_expanded, 0U);
}

/// Whoever stops in the middle of a graph has not seen all there was, even if nothing is queued.
TEST(Search, ARegionThatIsStoppedIsNeverExhausted) {
  const core::Graph graph = parallel_matmuls(3);
  const rules::RuleSet rules = rule_set_of(kMergeMatmuls);
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kNone);
  std::size_t asked = 0;
  for (std::size_t stop_at = 1; asked + 1 >= stop_at; ++stop_at) {
    verifier::Admission admission(rules, {.allow_unproved = true});
    asked = 0;
    const auto stopped = [&] { return ++asked >= stop_at; };
    const RegionResult found = search_region(graph, admission, *cost, {}, stopped);
    EXPECT_EQ(found.stop == RegionStop::kStopped, asked >= stop_at) << stop_at;
  }
  EXPECT_GT(asked, 4U);
}

TEST(Search, ARegionThatIsOutOfMemoryIsNotExhausted) {
  const rules::RuleSet rules = rule_set_of(kMergeMatmuls);
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kNone);
  verifier::Admission admission(rules, {.allow_unproved = true});
  RegionLimits limits;
  limits.max_detour = 0;  // what is no gain is not queued, and the first graph is cut short
  limits.max_graphs = 2;
  const auto found =
      search_region(parallel_matmuls(3), admission, *cost, limits, [] { return false; });
  EXPECT_EQ(found.stop, RegionStop::kMemory);
}

TEST(Search, WithoutRulesNothingIsFound) {
  const SearchResult result = run(parallel_matmuls(2), rules::RuleSet({}), {});
  EXPECT_TRUE(result.best.empty());
  EXPECT_EQ(result.graphs_expanded, 1U);
}

TEST(Strategies, EqsatFindsTheMergedMatmulsInOneStep) {
  const auto graph = parallel_matmuls(4);
  const auto rules = rule_set_of(kMergeMatmuls);
  const SearchResult result = run(graph, rules, {.strategy = Strategy::kEqsat});
  ASSERT_FALSE(result.best.empty());
  EXPECT_EQ(result.graphs_expanded, 0u);
  EXPECT_GT(result.e_nodes, 0u);
  EXPECT_EQ(result.underivable, 0u);
  ASSERT_EQ(result.best[0].steps.size(), 1u);
  const Step& step = result.best[0].steps[0];
  ASSERT_TRUE(step.lemma);
  EXPECT_NEAR(step.gain_us, result.cost_before.total_us - result.best[0].cost_us, 1e-9);
  core::Graph last = graph;
  for_each_graph(graph, rules, result.best[0].steps, [&](const Step&, const core::Graph& after) {
    last = after;
    return true;
  });
  EXPECT_EQ(last.hash(), result.best[0].graph.hash());
}

/// Blocks that are alike but for their weights.
core::Graph chain_of_blocks(std::size_t count) {
  core::GraphBuilder builder("blocks");
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<core::TensorId> sides;
    for (int side = 0; side < 2; ++side) {
      const auto w = builder.add_constant(
          weights(8, 8, static_cast<float>(k) + 0.1F * static_cast<float>(side)));
      const auto product = ops::append(builder, "matmul", {x, w});
      sides.push_back((*ops::append(builder, side == 0 ? "tanh" : "sigmoid", {(*product)[0]}))[0]);
    }
    x = (*ops::append(builder, "sub", {sides[0], sides[1]}))[0];
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

TEST(Strategies, OneLemmaServesAllRegionsOfAKind) {
  const auto graph = chain_of_blocks(12);
  const SearchOptions options{.strategy = Strategy::kEqsat, .eqsat_region_size = 10};
  const SearchResult result =
      run(graph, rule_set_of(kMergeMatmuls), options, runtime::Fusion::kNone);
  ASSERT_FALSE(result.best.empty());
  EXPECT_LT(result.regions_searched, result.regions);
  std::size_t products = 0;
  for (const core::NodeId id : result.best[0].graph.order())
    products += result.best[0].graph.node(id).op->name == "matmul" ? 1 : 0;
  EXPECT_EQ(products, 12u);
  std::set<const Lemma*> lemmas;
  for (const Step& step : result.best[0].steps) lemmas.insert(step.lemma.get());
  EXPECT_LT(lemmas.size(), result.best[0].steps.size());
}

TEST(Strategies, AreTheSameForAnyNumberOfThreads) {
  const auto graph = chain_of_blocks(6);
  const auto rules = rule_set_of(kMergeMatmuls);
  for (const Strategy strategy : {Strategy::kPortfolio, Strategy::kEqsat, Strategy::kBest}) {
    SearchOptions options{.strategy = strategy, .jobs = 1, .eqsat_region_size = 12};
    const SearchResult one = run(graph, rules, options, runtime::Fusion::kNone);
    ASSERT_FALSE(one.best.empty());
    for (const int jobs : {2, 16}) {
      options.jobs = jobs;
      const SearchResult many = run(graph, rules, options, runtime::Fusion::kNone);
      EXPECT_EQ(many.e_nodes, one.e_nodes);
      EXPECT_EQ(many.graphs_expanded, one.graphs_expanded);
      ASSERT_EQ(many.best.size(), one.best.size());
      EXPECT_EQ(core::print(many.best[0].graph), core::print(one.best[0].graph));
      ASSERT_EQ(many.certificate.has_value(), strategy != Strategy::kPortfolio);
      ASSERT_EQ(one.certificate.has_value(), strategy != Strategy::kPortfolio);
      if (!one.certificate) continue;
      EXPECT_EQ(many.certificate->gap, one.certificate->gap);
      EXPECT_EQ(many.certificate->optimal, one.certificate->optimal);
      EXPECT_EQ(many.certificate->largest_gap, one.certificate->largest_gap);
    }
  }
}

/// Without a detour, moves cannot carry a negation past a product to where it meets another one.
constexpr const char* kNegations = R"(
rule negation_through_product
  x: [m, k]   a: [k, n]
  source
    p = matmul(x, a)
    y = neg(p)
  target
    u = neg(x)
    y = matmul(u, a)
rule double_negation
  x: [m, n]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)";

core::Graph negated_products(std::size_t count) {
  core::GraphBuilder builder("negated_products");
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
  for (std::size_t k = 0; k < count; ++k) {
    const auto w = builder.add_constant(weights(8, 8, static_cast<float>(k)));
    const auto negative = ops::append(builder, "neg", {x});
    const auto product = ops::append(builder, "matmul", {(*negative)[0], w});
    x = (*ops::append(builder, "tanh", {(*ops::append(builder, "neg", {(*product)[0]}))[0]}))[0];
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

/// What a smaller effort finds, a greater one finds on its way.
TEST(Strategies, MoreEffortIsNeverWorse) {
  const auto rules = rule_set_of(std::string(kMergeMatmuls) + kNegations);
  for (const core::Graph& graph : {chain_of_blocks(4), merging_blocks(3), negated_products(2)}) {
    double last_us = std::numeric_limits<double>::infinity();
    std::uint64_t last_work = 0;
    for (int effort = 1; effort <= kMostEffort; ++effort) {
      const SearchResult result = run(
          graph, rules, {.effort = effort, .alpha = 1.01, .max_detour = 0}, runtime::Fusion::kNone);
      const double before_us = result.cost_before.total_us;
      const double cost_us = result.best.empty() ? before_us : result.best[0].cost_us;
      EXPECT_LE(cost_us, last_us) << graph.name() << ", effort " << effort;
      EXPECT_GE(result.work(), last_work) << graph.name() << ", effort " << effort;
      last_us = cost_us;
      last_work = result.work();
      if (effort == 1) continue;
      EXPECT_LT(cost_us, before_us) << graph.name() << ", effort " << effort;
    }
  }
}

TEST(Strategies, ThePortfolioSaturatesWhereMovesFindLess) {
  const auto rules = rule_set_of(kNegations);
  const auto graph = negated_products(3);
  SearchOptions options{.strategy = Strategy::kBacktracking, .max_detour = 0};
  EXPECT_TRUE(run(graph, rules, options, runtime::Fusion::kNone).best.empty());
  options.strategy = Strategy::kPortfolio;
  const SearchResult found = run(graph, rules, options, runtime::Fusion::kNone);
  ASSERT_FALSE(found.best.empty());
  EXPECT_TRUE(found.best[0].steps[0].lemma);
  for (const core::NodeId id : found.best[0].graph.order())
    EXPECT_NE(found.best[0].graph.node(id).op->name, "neg");
}

TEST(Strategies, BestIsNoWorseThanEither) {
  const auto graph = chain_of_blocks(5);
  const auto rules = rule_set_of(kMergeMatmuls);
  const auto cost_with = [&](Strategy strategy) {
    const SearchResult result =
        run(graph, rules, {.strategy = strategy, .alpha = 1}, runtime::Fusion::kNone);
    return result.best.empty() ? result.cost_before.total_us : result.best[0].cost_us;
  };
  const double best = cost_with(Strategy::kBest);
  EXPECT_LE(best, cost_with(Strategy::kBacktracking));
  EXPECT_LE(best, cost_with(Strategy::kEqsat));
}

TEST(Strategies, OnlyWhatWasSeenInFullIsCertain) {
  const auto graph = chain_of_blocks(2);
  const rules::RuleSet negation = rule_set_of("rule twice\n  x: [m, n]\n  source\n    t = neg(x)\n"
                                              "    y = neg(t)\n  target\n    y = x\n");
  const SearchResult all = run(graph, negation, {.strategy = Strategy::kEqsat});
  ASSERT_TRUE(all.certificate);
  EXPECT_EQ(all.certificate->regions, 1u);
  EXPECT_EQ(all.certificate->optimal, 1u);
  EXPECT_EQ(all.certificate->largest_gap, 0);
  EXPECT_EQ(all.certificate->gap, 0);
  EXPECT_EQ(all.stop_reason, StopReason::kExhausted);
  // Merging goes on for ever.
  const SearchResult some = run(graph, rule_set_of(kMergeMatmuls), {.strategy = Strategy::kEqsat});
  ASSERT_TRUE(some.certificate);
  EXPECT_EQ(some.certificate->optimal, 0u);
  EXPECT_EQ(some.stop_reason, StopReason::kSettled);
  EXPECT_FALSE(run(graph, negation, {}).certificate);
}

TEST(Strategies, HaveNamesThatAreRead) {
  for (const Strategy s :
       {Strategy::kPortfolio, Strategy::kBacktracking, Strategy::kEqsat, Strategy::kBest})
    EXPECT_EQ(parse_strategy(to_string(s)), s);
  EXPECT_FALSE(parse_strategy("greedy"));
}

}  // namespace
}  // namespace soapstone::search
