// Packs of towers become batches where the batch costs less: step by step, each of them proved.
#include "search/passes/plans.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/launches/backend.h"
#include "search/optimize.h"
#include "search/passes/checkpoint.h"
#include "search_fixture.h"
#include "tests/support/temporary_folder.h"
#include "transforms/layout_changes/uneven_joins.h"
#include "transforms/pack/towers.h"

namespace soapstone::search {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Eight heads of a product and a function of it, over what they share; `end` reads y1 to y8.
core::Graph heads(const std::string& end, std::int64_t columns = 8) {
  std::string text = "graph heads\n  x: f32[4, 16]\n  z: f32[4, 8]\n", nodes;
  for (int k = 1; k <= 8; ++k) {
    text += "  w" + std::to_string(k) + ": f32[16, " + std::to_string(columns) + "]\n";
    nodes += "  p" + std::to_string(k) + " = matmul(x, w" + std::to_string(k) + ")\n  y" +
             std::to_string(k) + " = tanh(p" + std::to_string(k) + ")\n";
  }
  return graph_of(text + nodes + end);
}

core::Graph joined_heads() {
  return heads("  y = concat(y1, y2, y3, y4, y5, y6, y7, y8; axis=0)\n  return y\n");
}

/// Terms of a sum, each of a slice of one tensor.
core::Graph summed_slices() {
  std::string text = "graph terms\n  x: f32[4, 24]\n", nodes;
  for (int k = 1; k <= 6; ++k) {
    const std::string n = std::to_string(k);
    text += "  w" + n + ": f32[4, 8]\n";
    nodes += "  c" + n + " = slice(x; axes=[1], starts=[" + std::to_string(4 * k - 4) +
             "], sizes=[4], steps=[1])\n  p" + n + " = matmul(c" + n + ", w" + n + ")\n  y" + n +
             " = exp(p" + n + ")\n";
  }
  return graph_of(text + nodes +
                  "  s2 = add(y1, y2)\n  s3 = add(s2, y3)\n  s4 = add(s3, y4)\n"
                  "  s5 = add(s4, y5)\n  s6 = add(s5, y6)\n  return s6\n");
}

std::vector<std::string> rules_of_steps(const Candidate& candidate) {
  std::vector<std::string> names;
  for (const Step& step : candidate.steps) names.push_back(step.base_rule);
  return names;
}

class Batching : public ::testing::Test {
 protected:
  explicit Batching(core::Graph graph = joined_heads(),
                    const transforms::Transform& transform = transforms::kSiblingBatches)
      : graph_(std::move(graph)), transform_(transform), rules_(std::vector<rules::Rule>{}),
        admission_(rules_) {}

  Candidate batched(bool stopped = false) {
    const Objective objective(*cost_);
    const ObjectiveStage stage = objective.first_stage(graph_);
    Candidate from{graph_, cost_->graph_cost(graph_).total_us, {}, {}};
    from.score = objective.score(graph_, stage);
    PlanTaker plans(admission_, objective, {});
    core::Crew crew(1);
    for (;;) {
      Candidate found = plans.take(from, transform_.find(graph_), stage, [=] { return stopped; });
      if (plans.prove(found, crew)) return found;
    }
  }

  /// Replays the steps: they lead to the candidate's graph, and their gains are its gain.
  void expect_replayed(const Candidate& found) {
    core::Graph last = graph_;
    double gain_us = 0;
    for_each_graph(graph_, rules_, found.steps, [&](const Step& step, const core::Graph& after) {
      last = after;
      gain_us += step.gain_us;
      return true;
    });
    EXPECT_EQ(last.hash(), found.graph.hash());
    EXPECT_NEAR(gain_us, cost_->graph_cost(graph_).total_us - found.cost_us, 1e-9);
  }

  void expect_equal(const core::Graph& found) {
    const auto report =
        check_equivalence(graph_, found, *backend_, {}, core::silent(), core::StopToken());
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_TRUE(report->equal);
    EXPECT_GT(report->samples, 1);
  }

  const core::Graph graph_;
  const transforms::Transform& transform_;
  const rules::RuleSet rules_;
  verifier::Admission admission_;
  const std::unique_ptr<cost::CostModel> cost_ = cost::make_roofline_cost(runtime::Fusion::kFull);
  const std::unique_ptr<runtime::Backend> backend_ = runtime::make_reference_backend();
};

class BatchedTerms : public Batching {
 protected:
  BatchedTerms() : Batching(summed_slices()) {}
};

TEST_F(Batching, OfHeadsCostsLessAndIsTheSame) {
  const Candidate found = batched();
  EXPECT_LT(found.cost_us, 0.8 * cost_->graph_cost(graph_).total_us);
  EXPECT_THAT(rules_of_steps(found),
              testing::ElementsAre("batch_of_matmul", "batch_of_tanh", "batch_of_concat"));
  for (const Step& step : found.steps) {
    EXPECT_EQ(step.site, 0U) << "a pack is one site";
    EXPECT_EQ(step.kind, found.steps[0].kind);
  }
  expect_replayed(found);
  expect_equal(found.graph);
}

TEST_F(BatchedTerms, AreSummedAsOne) {
  const Candidate found = batched();
  EXPECT_LT(found.cost_us, cost_->graph_cost(graph_).total_us);
  EXPECT_THAT(rules_of_steps(found), testing::ElementsAre("batch_of_pieces", "batch_of_matmul",
                                                          "batch_of_exp", "batch_of_add"));
  expect_replayed(found);
  expect_equal(found.graph);
}

/// Boxes on maps of two scales, decoded apart and joined.
class ScalesOfADetector : public Batching {
 protected:
  ScalesOfADetector()
      : Batching(graph_of(R"(graph detector
  a: f32[1, 3, 8, 8, 5]
  b: f32[1, 3, 4, 4, 5]
  p = full(; shape=[1, 1, 8, 8, 2], value=0.5)
  q = full(; shape=[1, 1, 4, 4, 2], value=0.25)
  m = full(; shape=[1, 3, 1, 1, 2], value=3.0)
  n = full(; shape=[1, 3, 1, 1, 2], value=2.0)
  sa = sigmoid(a)
  sb = sigmoid(b)
  a1, a2, a3 = split(sa; axis=4, sizes=[2, 2, 1])
  b1, b2, b3 = split(sb; axis=4, sizes=[2, 2, 1])
  a4 = add(a1, p)
  b4 = add(b1, q)
  a5 = mul(a2, m)
  b5 = mul(b2, n)
  a6 = concat(a4, a5, a3; axis=4)
  b6 = concat(b4, b5, b3; axis=4)
  ar = reshape(a6; shape=[1, 192, 5])
  br = reshape(b6; shape=[1, 48, 5])
  y = concat(ar, br; axis=1)
  return y
)"),
                 transforms::kUnevenConcats) {}
};

TEST_F(ScalesOfADetector, AreDecodedTogether) {
  const Candidate found = batched();
  EXPECT_LT(found.cost_us, 0.7 * cost_->graph_cost(graph_).total_us);
  EXPECT_THAT(rules_of_steps(found),
              testing::ElementsAre("uneven_join_of_sigmoid", "uneven_join_of_split",
                                   "uneven_join_of_add", "uneven_join_of_mul",
                                   "uneven_join_of_concat", "uneven_join_of_reshape",
                                   "uneven_join_of_concat"));
  expect_replayed(found);
  expect_equal(found.graph);
}

TEST_F(Batching, ThatIsStoppedTakesNoSteps) {
  const Candidate found = batched(/*stopped=*/true);
  EXPECT_THAT(found.steps, IsEmpty());
  EXPECT_EQ(found.graph.hash(), graph_.hash());
}

TEST_F(Batching, StopsAtARuleThatIsNotAdmitted) {
  admission_.exclude("batch_of_tanh");
  const Candidate found = batched();
  EXPECT_THAT(rules_of_steps(found), Not(Contains("batch_of_tanh")));
  EXPECT_THAT(rules_of_steps(found), Not(Contains("batch_of_concat")));
  admission_.exclude("batch_of_matmul");
  EXPECT_THAT(batched().steps, IsEmpty());
}

/// Beside another part, the batch would be brought into order for a join of its own first.
class BatchWithoutJoin : public Batching {
 protected:
  BatchWithoutJoin()
      : Batching(heads("  y = concat(z, y1, y2, y3, y4, y5, y6, y7, y8; axis=1)\n"
                       "  return y\n")) {}
};

TEST_F(BatchWithoutJoin, IsTakenWhereTheJoinCostsMore) {
  const Candidate found = batched();
  EXPECT_THAT(rules_of_steps(found), Contains("batch_of_matmul"));
  EXPECT_THAT(rules_of_steps(found), Not(Contains("batch_of_concat")));
  expect_replayed(found);
  expect_equal(found.graph);
}

/// One head is no tower.
TEST(Batches, AreNotMadeOfOne) {
  const core::Graph graph =
      graph_of("graph g\n  x: f32[4, 8]\n  w: f32[8, 8]\n  y = matmul(x, w)\n  return y\n");
  EXPECT_THAT(transforms::find_towers(graph), IsEmpty());
}

TEST_F(Batching, IsFoundByTheSearchAndItsChainIsReplayed) {
  const rules::RuleSet none(std::vector<rules::Rule>{});
  verifier::Admission baseline(none);
  OptimizeOptions options;
  options.measure = false;
  options.search.admits_made = [](const rules::Rule&) { return true; };
  const auto report =
      optimize(graph_, baseline, admission_, *cost_, *backend_, options, core::silent(), {});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->result, ResultKind::kRewritten);
  ASSERT_TRUE(report->equivalence);
  EXPECT_TRUE(report->equivalence->equal);
  const std::string text = print(report->chain);
  EXPECT_THAT(text, HasSubstr("placed"));
  EXPECT_THAT(text, HasSubstr("batch_of_matmul"));
  const auto chain = parse_chain(text);
  ASSERT_TRUE(chain.ok()) << chain.error().to_string() << "\n" << text;
  EXPECT_THAT(chain->rules, testing::Each(testing::Field(&rules::Rule::is_placed, true)));
  const auto again = replay(*chain, graph_, *backend_, {}, core::silent(), core::StopToken{});
  ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
  EXPECT_TRUE(same_structure(again->graph, report->graph));
  EXPECT_GE(again->proofs, 3U);

  // A rule that joins the items in another order is not proved.
  std::string wrong = text;
  const std::string items = "concat(ar1, ar2";
  const std::size_t at = wrong.find(items);
  ASSERT_NE(at, std::string::npos) << text;
  const auto other = parse_chain(wrong.replace(at, items.size(), "concat(ar2, ar1"));
  ASSERT_TRUE(other.ok()) << other.error().to_string();
  EXPECT_FALSE(replay(*other, graph_, *backend_, {}, core::silent(), core::StopToken{}).ok());
}

TEST_F(Batching, IsTheSameFromACheckpoint) {
  const TemporaryFolder folder;
  SearchOptions options;
  options.admits_made = [](const rules::Rule&) { return true; };
  const auto run = [&] {
    Checkpoint checkpoint(folder / "checkpoint");
    EXPECT_TRUE(
        checkpoint
            .open(identity_of(graph_, rules_, *cost_, runtime::Fusion::kFull, options), rules_)
            .ok());
    SearchOptions with = options;
    with.checkpoint = &checkpoint;
    SearchResult result =
        search(graph_, admission_, *cost_, with, core::silent(), core::StopToken());
    EXPECT_TRUE(checkpoint.write().ok());
    return result;
  };
  const SearchResult first = run(), again = run();
  ASSERT_FALSE(first.best.empty());
  ASSERT_FALSE(again.best.empty());
  EXPECT_THAT(rules_of_steps(first.best[0]), Contains("batch_of_matmul"));
  EXPECT_EQ(again.best[0].graph.hash(), first.best[0].graph.hash());
  EXPECT_EQ(again.graphs_built, first.graphs_built);
  EXPECT_EQ(first.regions_resumed, 0U);
  EXPECT_GT(again.regions_resumed, 0U);
}

}  // namespace
}  // namespace soapstone::search
