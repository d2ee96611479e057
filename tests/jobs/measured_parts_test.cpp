#include "jobs/plan/measured_parts.h"

#include <gtest/gtest.h>

#include "jobs/plan/plan.h"
#include "parallel/planning/mesh_planner.h"

namespace soapstone::jobs {
namespace {

/// Contractions take so much for each element of their results, and nothing else can be timed, if
/// not all can.
class ElementCost final : public cost::CostModel {
 public:
  cost::GraphCost graph_cost(const core::Graph& graph) override {
    ++asked;
    const core::Node& last = graph.node(graph.order().back());
    if (last.op->name != "matmul" && !times_all) return {1, 1, 1};
    const auto dims = core::concrete(graph.tensor(last.outputs[0]).type.shape);
    return {us_per_element * static_cast<double>(core::element_count(*dims)), 0, 1};
  }
  std::vector<Item> breakdown(const core::Graph&) override { return {}; }
  std::string description() const override { return "by elements"; }

  double us_per_element = 1;
  bool times_all = false;
  int asked = 0;
};

class MeasuredPartsTest : public testing::Test {
 protected:
  MeasuredPartsTest()
      : model_(*load_planned_model({"mlp", {}, {}, 64}, {})),
        topology_(*load_topology("p100x4-nvlink")) {
    options_.devices = 4;
  }

  parallel::MeshPlanOutcome planned(const MeasuredParts* parts) {
    options_.part_times = parts;
    return *parallel::plan_on_meshes(model_.graph, model_.is_weight, topology_, options_,
                                     core::silent(), {});
  }

  MarkedModel model_;
  parallel::Topology topology_;
  parallel::MeshPlanOptions options_;
  ElementCost costs_;
};

TEST_F(MeasuredPartsTest, PlansTakeWhatWasMeasured) {
  MeasuredParts parts(model_.graph, model_.is_weight, costs_, 60);
  auto plan = planned(&parts);
  EXPECT_EQ(parts.estimated_share(plan.plan), 1);
  int rounds = 0;
  while (parts.learn(plan.plan, {})) {
    plan = planned(&parts);
    ASSERT_LT(++rounds, 50);
  }
  EXPECT_GE(rounds, 1);
  EXPECT_LT(parts.estimated_share(plan.plan), 0.1);
  EXPECT_LE(plan.lower_bound.us, plan.plan.time.total_us);
  double elements = 0;
  for (const core::NodeId id : model_.graph.order()) {
    const core::Node& node = model_.graph.node(id);
    if (node.op->name == "matmul")
      elements += static_cast<double>(
          core::element_count(*core::concrete(model_.graph.tensor(node.outputs[0]).type.shape)));
  }
  EXPECT_GE(plan.plan.time.compute_us, elements / 4);
  EXPECT_LE(plan.plan.time.compute_us, elements);
}

TEST_F(MeasuredPartsTest, NothingIsMeasuredTwiceOrWithoutTime) {
  MeasuredParts parts(model_.graph, model_.is_weight, costs_, 60);
  MeasuredParts never(model_.graph, model_.is_weight, costs_, 0);
  EXPECT_FALSE(never.learn(planned(&never).plan, {}));
  EXPECT_EQ(costs_.asked, 0);
  const auto plan = planned(&parts);
  EXPECT_TRUE(parts.learn(plan.plan, {}));
  const int asked = costs_.asked;
  EXPECT_GT(asked, 0);
  EXPECT_FALSE(parts.learn(plan.plan, {}));
  EXPECT_EQ(costs_.asked, asked);
}

TEST_F(MeasuredPartsTest, TakeLongerBesideOthersThatCompute) {
  model_ = *load_planned_model({"lenet", {}, {}, 64}, {});  // It has pooling besides products.
  costs_.times_all = true;
  MeasuredParts alone(model_.graph, model_.is_weight, costs_, 60);
  MeasuredParts beside(model_.graph, model_.is_weight, costs_, 60, {1.5, 3});
  const auto plan = planned(&alone).plan;
  (void)planned(&beside);
  ASSERT_TRUE(alone.learn(plan, {}));
  ASSERT_TRUE(beside.learn(plan, {}));
  const parallel::GraphLoops loops = parallel::graph_loops(model_.graph, model_.is_weight);
  int contractions = 0, others = 0;
  for (const core::NodeId id : model_.graph.order()) {
    if (model_.graph.is_constant_expression(id)) continue;
    const std::size_t n = id.index();
    const auto lengths = parallel::part_lengths(loops.spaces[n].loops, loops.origins[n],
                                                plan.sharding.nodes[n].loops, plan.axis_sizes,
                                                plan.shape.microbatches);
    const double alone_us = alone.forward_us(id, lengths, 0);
    if (alone_us <= 0) continue;  // It was not measured.
    const double ratio = beside.forward_us(id, lengths, 0) / alone_us;
    (ratio < 2 ? contractions : others) += 1;
    EXPECT_NEAR(ratio, ratio < 2 ? 1.5 : 3, 1e-9);
  }
  EXPECT_GT(contractions, 0);
  EXPECT_GT(others, 0);
}

TEST_F(MeasuredPartsTest, EstimatesOfTheRestAreOffByAsMuch) {
  costs_.us_per_element = 1000;
  MeasuredParts parts(model_.graph, model_.is_weight, costs_, 60);
  const auto plan = planned(&parts);
  ASSERT_TRUE(parts.learn(plan.plan, {}));
  for (const core::NodeId id : model_.graph.order()) {
    if (model_.graph.node(id).op->name != "matmul") continue;
    const std::vector<std::int64_t> never_asked(3, 3);
    EXPECT_GT(parts.forward_us(id, never_asked, 1), 100);
    EXPECT_GT(parts.least_scale(id), 100);
    return;
  }
  FAIL() << "the network has no matmul";
}

}  // namespace
}  // namespace soapstone::jobs
