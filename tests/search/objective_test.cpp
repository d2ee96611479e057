// Objectives: on small graphs the answer is the best of all graphs that the rules lead to, and the
// answers differ between objectives.
#include "search/base/objective.h"

#include <algorithm>

#include "cost/models/cost_model.h"
#include "runtime/memory/memory_schedule.h"
#include "search/search.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using runtime::Fusion;

/// A chain without what lies between: less memory, and faster too.
const char* const kAssociate = R"(
rule associate
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)
  checked 2^61-1, 200 sizes; floats: exact
)";

/// Wide branches off one input, each narrowed before they meet. Merging the wide products saves
/// launches, and then all wide results are there at once.
Graph branches(int count) {
  core::GraphBuilder builder("branches");
  const core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, 16}, true});
  core::TensorId sum = x;
  for (int k = 0; k < count; ++k) {
    const auto wide = builder.add_constant(weights(16, 256 + 64 * k, static_cast<float>(k)));
    const auto narrow = builder.add_constant(weights(256 + 64 * k, 16, static_cast<float>(k) + 9));
    const auto y = *ops::append(builder, "matmul", {x, wide});
    const auto z = *ops::append(builder, "matmul", {y[0], narrow});
    sum = (*ops::append(builder, "mul", {z[0], sum}))[0];
  }
  builder.set_outputs({sum});
  return *std::move(builder).finish();
}

struct Best {
  Score fastest, smallest;
  std::vector<Score> all;
};

/// The scores of all graphs that the rules lead to, each in its best order.
Best enumerate(const Graph& original, const rules::RuleSet& rules, cost::CostModel& cost,
               const runtime::Backend& backend) {
  std::vector<Graph> graphs{original};
  Best best;
  for (std::size_t k = 0; k < graphs.size() && graphs.size() < 2000; ++k) {
    const Graph graph = graphs[k];
    rules.for_each_match(graph, [&](core::RuleId rule, const rules::Match& match) {
      auto next = rules::apply(graph, rules[rule], match);
      if (!next) return true;
      const bool known = std::ranges::any_of(
          graphs, [&](const Graph& other) { return same_structure(other, *next); });
      if (!known) graphs.push_back(*std::move(next));
      return true;
    });
  }
  for (const Graph& graph : graphs) {
    const auto ordered = runtime::order_for_memory(graph, backend, Fusion::kFull);
    best.all.push_back({cost.graph_cost(ordered.graph).total_us, ordered.use.peak_bytes, 0, 0, 0});
  }
  const auto by_time = [](const Score& a, const Score& b) {
    return std::pair(a.latency_us, a.peak_bytes) < std::pair(b.latency_us, b.peak_bytes);
  };
  const auto by_peak = [](const Score& a, const Score& b) {
    return std::pair(a.peak_bytes, a.latency_us) < std::pair(b.peak_bytes, b.latency_us);
  };
  best.fastest = std::ranges::min(best.all, by_time);
  best.smallest = std::ranges::min(best.all, by_peak);
  return best;
}

class ObjectiveTest : public ::testing::Test {
 protected:
  SearchResult run(const Graph& graph, ObjectiveKind kind, std::size_t limit_bytes = 0,
                   int jobs = 1) {
    verifier::Admission admission(rules_, {.allow_unproved = true});
    const Objective objective(kind, limit_bytes, *cost_, *backend_, Fusion::kFull);
    return search(graph, admission, *cost_,
                  {.alpha = 2, .time_s = 0, .jobs = jobs, .objective = &objective}, core::silent(),
                  {});
  }

  rules::RuleSet rules_ = rule_set_of(kMergeMatmuls);
  std::unique_ptr<runtime::Backend> backend_ = runtime::make_reference_backend();
  std::unique_ptr<cost::CostModel> cost_ = cost::make_roofline_cost(Fusion::kFull);
};

TEST_F(ObjectiveTest, ObjectivesComeToTheBestOfAllGraphs) {
  const Graph graph = branches(4);
  const Best best = enumerate(graph, rules_, *cost_, *backend_);
  ASSERT_GT(best.all.size(), 3U);
  // They are different answers.
  ASSERT_LT(best.fastest.latency_us, best.smallest.latency_us);
  ASSERT_LT(best.smallest.peak_bytes, best.fastest.peak_bytes);

  const SearchResult latency = run(graph, ObjectiveKind::kLatency);
  ASSERT_FALSE(latency.best.empty());
  EXPECT_EQ(latency.best[0].cost_us, best.fastest.latency_us);

  const SearchResult memory = run(graph, ObjectiveKind::kMemory);
  ASSERT_FALSE(memory.best.empty());
  EXPECT_EQ(memory.best[0].score.peak_bytes, best.smallest.peak_bytes);
  EXPECT_EQ(memory.best[0].cost_us, best.smallest.latency_us);
}

TEST_F(ObjectiveTest, UnderALimitTheFastestThatFits) {
  const Graph graph = branches(4);
  const Best best = enumerate(graph, rules_, *cost_, *backend_);
  for (const Score& bound : best.all) {
    SCOPED_TRACE(bound.peak_bytes);
    const SearchResult result = run(graph, ObjectiveKind::kLatencyUnderMemory, bound.peak_bytes);
    ASSERT_FALSE(result.best.empty());
    double fastest_us = 1e9;
    for (const Score& score : best.all)
      if (score.peak_bytes <= bound.peak_bytes) fastest_us = std::min(fastest_us, score.latency_us);
    EXPECT_LE(result.best[0].score.peak_bytes, bound.peak_bytes);
    EXPECT_LE(result.best[0].cost_us, (1 + 1e-5) * fastest_us);  // what less is, is rounding
  }
}

TEST_F(ObjectiveTest, ALimitThatCannotBeReachedGivesTheSmallest) {
  const Graph graph = branches(4);
  const Best best = enumerate(graph, rules_, *cost_, *backend_);
  const SearchResult result = run(graph, ObjectiveKind::kLatencyUnderMemory, 64);
  ASSERT_FALSE(result.best.empty());
  EXPECT_EQ(result.best[0].score.peak_bytes, best.smallest.peak_bytes);
}

TEST_F(ObjectiveTest, WhatIsReturnedIsOrderedAndItsStepsLeadToIt) {
  const Graph graph = branches(4);
  const SearchResult result = run(graph, ObjectiveKind::kMemory);
  for (const Candidate& candidate : result.best) {
    const auto use = runtime::memory_use(candidate.graph, *backend_, Fusion::kFull);
    EXPECT_EQ(use.peak_bytes, candidate.score.peak_bytes);
    EXPECT_EQ(cost_->graph_cost(candidate.graph).total_us, candidate.cost_us);
    Graph last = graph;
    for_each_graph(graph, rules_, candidate.steps, [&](const Step&, const Graph& now) {
      last = now;
      return true;
    });
    EXPECT_TRUE(same_structure(last, candidate.graph));
  }
}

/// Blocks in a row with equal peaks: one alone gains nothing, all together do.
Graph equal_blocks(int count) {
  std::string text =
      "graph equal_blocks\n  x0: f32[16, 16]\n  a: f32[16, 256]\n  b: f32[256, 16]\n";
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k);
    text += "  w" + n + " = matmul(x" + n + ", a)\n  x" + std::to_string(k + 1) + " = matmul(w" +
            n + ", b)\n";
  }
  return graph_of(text + "  return x" + std::to_string(count) + "\n");
}

TEST_F(ObjectiveTest, EqualPeaksAreLoweredOneAfterTheOther) {
  rules_ = rule_set_of(kAssociate);
  const SearchResult result = run(equal_blocks(9), ObjectiveKind::kMemory);
  ASSERT_FALSE(result.best.empty());
  // No block is left in which the wide result stands beside its block's input.
  const auto before = runtime::memory_use(equal_blocks(9), *backend_, Fusion::kFull);
  EXPECT_LT(result.best[0].score.peak_bytes, before.peak_bytes);
}

TEST_F(ObjectiveTest, IsTheSameForAnyNumberOfThreads) {
  const Graph graph = branches(4);
  for (const auto& [kind, limit] :
       {std::pair(ObjectiveKind::kMemory, std::size_t{0}),
        std::pair(ObjectiveKind::kLatencyUnderMemory, std::size_t{2'400})}) {
    const SearchResult one = run(graph, kind, limit, 1);
    for (const int jobs : {2, 16}) {
      const SearchResult many = run(graph, kind, limit, jobs);
      EXPECT_EQ(many.graphs_expanded, one.graphs_expanded);
      ASSERT_EQ(many.best.size(), one.best.size());
      for (std::size_t k = 0; k < one.best.size(); ++k) {
        EXPECT_TRUE(same_structure(many.best[k].graph, one.best[k].graph));
        EXPECT_EQ(many.best[k].score.peak_bytes, one.best[k].score.peak_bytes);
        EXPECT_EQ(many.best[k].cost_us, one.best[k].cost_us);
      }
    }
  }
}

TEST(Objective, NamesAreRead) {
  for (const auto kind :
       {ObjectiveKind::kLatency, ObjectiveKind::kMemory, ObjectiveKind::kLatencyUnderMemory})
    EXPECT_EQ(parse_objective(to_string(kind)), kind);
  EXPECT_EQ(parse_objective("speed"), std::nullopt);
}

}  // namespace
}  // namespace soapstone::search
