// The work for each plan grows with what the plan changes: a graph under edit and the
// price of a change say what whole graphs would say, and few whole graphs are priced.
#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cost/models/cost_model.h"
#include "rules/matching/edited_graph.h"
#include "search/passes/plan_moves.h"
#include "search/passes/plans.h"
#include "search/search.h"
#include "search_fixture.h"
#include "tests/runtime/random_graph_text.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

rules::RuleSet rules_of_repository() {
  auto file = rules::read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
  CHECK(file.ok(), file.error().to_string());
  return rules::RuleSet(std::move(file->rules));
}

void expect_same_answers(const rules::EditedGraph& edited, const Graph& graph) {
  for (std::size_t i = 0; i < graph.node_bound() + 2; ++i)
    ASSERT_EQ(edited.contains(NodeId(i)), graph.contains(NodeId(i))) << i;
  for (std::size_t i = 0; i < graph.tensor_bound() + 2; ++i) {
    const TensorId id(i);
    ASSERT_EQ(edited.contains(id), graph.contains(id)) << i;
    if (!graph.contains(id)) continue;
    ASSERT_EQ(edited.is_constant_expression(id), graph.is_constant_expression(id)) << i;
    ASSERT_TRUE(std::ranges::equal(edited.consumers(id), graph.consumers(id))) << i;
    ASSERT_EQ(edited.tensor(id).producer, graph.tensor(id).producer) << i;
  }
  for (const NodeId id : graph.order()) ASSERT_EQ(edited.node(id).inputs, graph.node(id).inputs);
  const auto finished = edited.finished();
  ASSERT_TRUE(finished.ok());
  EXPECT_EQ(finished->hash(), graph.hash());
  EXPECT_TRUE(std::ranges::equal(finished->order(), graph.order()));
  EXPECT_EQ(finished->tensor_bound(), graph.tensor_bound());
}

TEST(PlanWork, AGraphUnderEditAndThePriceOfAChangeSayWhatWholeGraphsSay) {
  constexpr unsigned kGraphs = 60;
  constexpr int kSteps = 6;
  const rules::RuleSet rules = rules_of_repository();
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  std::size_t taken = 0;
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    const Graph base = graph_of(runtime::test::RandomGraphText(seed).make(30));
    std::mt19937 random(seed);
    rules::EditedGraph edited(base);
    Graph now = base;
    for (int step = 0; step < kSteps; ++step) {
      std::vector<rules::Rewrite> ways;
      rules.for_each_match(now, [&](core::RuleId rule, const rules::Match& match) {
        ways.push_back({rule, match});
        return true;
      });
      if (ways.empty()) break;
      const auto& [id, match] = ways[random() % ways.size()];
      auto next = rules::apply_and_follow(now, rules[id], match);
      const auto results = edited.apply(rules[id], match);
      if (!next || !results) {
        EXPECT_TRUE(next || !results) << seed;
        break;
      }
      EXPECT_EQ(next->results, *results);
      now = std::move(next->graph);
      expect_same_answers(edited, now);
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", " << rules[id].name;
      EXPECT_EQ(cost->cost_change_us(base, now),
                cost->graph_cost(now).total_us - cost->graph_cost(base).total_us)
          << "seed " << seed << ", " << rules[id].name;
      ++taken;
    }
  }
  EXPECT_GT(taken, 2 * kGraphs);
}

/// Counts what is asked of a cost model about large graphs.
class CountingCost final : public cost::CostModel {
 public:
  explicit CountingCost(std::size_t nodes) : nodes_(nodes) {}
  cost::GraphCost graph_cost(const Graph& graph) override {
    if (graph.order().size() >= nodes_) ++wholes;
    return cost_->graph_cost(graph);
  }
  std::optional<double> cost_change_us(const Graph& before, const Graph& after) override {
    ++changes;
    return cost_->cost_change_us(before, after);
  }
  std::vector<Item> breakdown(const Graph& graph) override { return cost_->breakdown(graph); }
  std::string description() const override { return cost_->description(); }

  std::atomic<std::size_t> wholes = 0, changes = 0;

 private:
  std::size_t nodes_;
  std::unique_ptr<cost::CostModel> cost_ = cost::make_roofline_cost(runtime::Fusion::kFull);
};

/// Dense layers side by side, each behind another one, whose results are joined.
Graph towers(std::size_t count) {
  core::GraphBuilder builder("towers");
  const TensorId x = builder.add_input("x", {core::DataType::kFloat32, {4, 8}, true});
  std::vector<TensorId> ends;
  for (std::size_t k = 0; k < count; ++k) {
    const auto seed = static_cast<float>(k);
    const auto y = *ops::append(builder, "matmul", {x, builder.add_constant(weights(8, 8, seed))});
    const auto z = *ops::append(builder, "tanh", {y[0]});
    ends.push_back((*ops::append(builder, "matmul",
                                 {z[0], builder.add_constant(weights(8, 8, seed + 100))}))[0]);
  }
  builder.set_outputs(ends);
  return *std::move(builder).finish();
}

TEST(PlanWork, FewWholeGraphsArePriced) {
  constexpr std::size_t kTowers = 24;
  const rules::RuleSet none(std::vector<rules::Rule>{});
  verifier::Admission admission(none);
  CountingCost cost(kTowers);
  SearchOptions options;
  options.jobs = 1;
  options.effort = 2;
  options.admits_made = [](const rules::Rule&) { return true; };
  search(towers(kTowers), admission, cost, options, core::silent(), {});
  EXPECT_GT(cost.changes, 100U);
  EXPECT_LT(2 * cost.wholes, cost.changes);
}

/// All finders, one after the other, each on what the ones before have made of the graph. A plan
/// that a graph under edit has shown not to pay does not pay in whole graphs either, or they would
/// come to another result.
class LeftOutPlans : public ::testing::Test {
 protected:
  void expect_same(const Graph& graph, bool behind_opaque) {
    const rules::RuleSet none(std::vector<rules::Rule>{});
    verifier::Admission admission(none);
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    const Objective objective(*cost);
    const ObjectiveStage stage = objective.first_stage(graph);
    PlanTaker quick(admission, objective, {}, behind_opaque),
        whole(admission, objective, {}, behind_opaque);
    const ops::SpecialValues specials(graph);
    has_specials_ = has_specials_ || !specials.none();
    quick.set_specials(specials);
    whole.set_specials(specials);
    whole.take_all_plans();
    Candidate now{graph, cost->graph_cost(graph).total_us, {}, objective.score(graph, stage)};
    for (const PlanMove& move : plan_moves()) {
      for (const transforms::Transform* const transform : move.transforms) {
        Candidate next = quick.take(now, *transform, stage, [] { return false; });
        const Candidate other = whole.take(now, *transform, stage, [] { return false; });
        ASSERT_EQ(next.graph.hash(), other.graph.hash());
        ASSERT_EQ(next.cost_us, other.cost_us);
        ASSERT_EQ(next.steps.size(), other.steps.size());
        taken_ += next.steps.size() - now.steps.size();
        now = std::move(next);
      }
    }
    left_out_ += quick.left_out();
    EXPECT_EQ(quick.left_out(), whole.left_out());
  }

  std::size_t taken_ = 0, left_out_ = 0;
  bool has_specials_ = false;
};

TEST_F(LeftOutPlans, DoNotPay) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    expect_same(graph_of(runtime::test::RandomGraphText(seed).make(24)), seed % 4 != 0);
  }
  expect_same(towers(6), true);
  EXPECT_GT(taken_, 40U);
  EXPECT_GT(left_out_, 200U);
  EXPECT_FALSE(has_specials_);
}

/// A logarithm of what may be negative, and a tanh that makes numbers of infinities.
TEST_F(LeftOutPlans, DoNotPayWhereNaNMatters) {
  for (unsigned seed = 100; seed < 112; ++seed) {
    SCOPED_TRACE(seed);
    std::string text = runtime::test::RandomGraphText(seed).make(24);
    for (std::size_t at = 0; (at = text.find("= relu(", at)) != std::string::npos; ++at)
      text.replace(at, 7, "= log(");
    expect_same(graph_of(text), true);
  }
  EXPECT_TRUE(has_specials_);
  EXPECT_GT(taken_, 10U);
  EXPECT_GT(left_out_, 50U);
}

}  // namespace
}  // namespace soapstone::search
