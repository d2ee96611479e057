// Levels of recomputation: which results each level saves, what that makes a device
// keep, and the end of a step that runs in chunks.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "parallel/planning/mesh_planner.h"
#include "parallel/planning/named.h"
#include "parallel/step/model_order.h"
#include "parallel/training/loss.h"
#include "parallel/work/loss_region.h"
#include "parallel/work/saved_results.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {
namespace {

PlannedNetwork with_loss(PlannedNetwork net) {
  core::GraphBuilder builder(net.graph);
  const auto loss = append_loss(builder, net.graph, Loss::kChosen);
  EXPECT_TRUE(loss.ok());
  builder.set_outputs({net.graph.outputs()[0], loss->value});
  net.graph = *std::move(builder).finish();
  net.is_weight.resize(net.graph.tensor_bound(), false);
  return net;
}

StepWork training_work(const PlannedNetwork& net, Attention attention) {
  StepOptions options;
  options.is_training = true;
  options.attention = attention;
  return step_work(net.graph, net.is_weight, options);
}

class Levels : public testing::Test {
 protected:
  /// Names of nodes of the second layer that run again, without views.
  std::set<std::string> run_again(Recompute level) const {
    const ModelOrder order = model_order(net_.graph, work_);
    const std::vector<bool> borders = crossing(net_.graph, order, order.ends_block);
    const StepWork work =
        computing_again(net_.graph, work_, saved_results(net_.graph, work_, level, borders));
    std::set<std::string> names;
    for (const core::NodeId id : net_.graph.order()) {
      const std::string& name = net_.graph.node(id).name;
      if (name.starts_with("layer1/") && work.nodes[id.index()].runs_again &&
          !work.nodes[id.index()].is_free)
        names.insert(name.substr(std::string("layer1/").size()));
    }
    return names;
  }

  const PlannedNetwork net_ = network("llama", {{"batch", 2},
                                                {"layers", 3},
                                                {"hidden", 512},
                                                {"heads", 8},
                                                {"kv_heads", 2},
                                                {"feed", 1792},
                                                {"vocabulary", 1000},
                                                {"seq", 256}});
  const StepWork work_ = training_work(net_, Attention::kStored);
};

TEST_F(Levels, OfNothingRunNothingAgain) { EXPECT_TRUE(run_again(Recompute::kNothing).empty()); }

TEST_F(Levels, OfAttentionRunItsScoresAgain) {
  EXPECT_EQ(run_again(Recompute::kAttention),
            (std::set<std::string>{"attention/scores", "attention/scale", "attention/add_mask",
                                   "attention/softmax"}));
}

TEST_F(Levels, ThatAreCheapRunNoOtherProductAgain) {
  const std::set<std::string> again = run_again(Recompute::kCheap);
  for (const char* product : {"attention/query", "attention/key", "attention/value",
                              "attention/output", "feed/gate", "feed/up", "feed/down"})
    EXPECT_FALSE(again.contains(product)) << product;
  for (const char* other : {"norm1", "norm2", "feed/gate/swish", "feed/mul", "attention/softmax"})
    EXPECT_TRUE(again.contains(other)) << other;
}

/// As PyTorch counts products from the beginning of a block and keeps the first, the third, …
TEST_F(Levels, OfAHalfRunEverySecondProductAgain) {
  const std::set<std::string> again = run_again(Recompute::kHalf);
  EXPECT_FALSE(again.contains("feed/gate"));
  EXPECT_TRUE(again.contains("feed/up"));
  EXPECT_FALSE(again.contains("feed/down"));
  const auto products = std::ranges::count_if(
      std::vector<std::string>{"attention/query", "attention/key", "attention/value",
                               "attention/output", "feed/gate", "feed/up", "feed/down"},
      [&](const std::string& product) { return again.contains(product); });
  EXPECT_EQ(products, 3);
}

TEST_F(Levels, KeepLessAndTakeLongerOneAfterTheOther) {
  const Topology machine = topology("dgx-a100x1");
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = 1;
  options.freedom = (*named_strategy("data"))->freedom;
  StepTime before;
  for (std::size_t level = 0; level < kRecomputeNames.size(); ++level) {
    options.sizes.recompute = static_cast<Recompute>(level);
    const core::StopToken never;
    const auto outcome =
        plan_on_meshes(net_.graph, net_.is_weight, machine, options, core::silent(), never);
    ASSERT_TRUE(outcome.ok());
    const StepTime& time = outcome->plan.time;
    EXPECT_EQ(outcome->plan.shape.recompute, options.sizes.recompute);
    if (level > 0) {
      EXPECT_LT(time.memory.kept_bytes, before.memory.kept_bytes) << kRecomputeNames[level];
      EXPECT_GT(time.total_us, before.total_us) << kRecomputeNames[level];
    }
    before = time;
  }
}

TEST(FusedAttention, IsNoLevelOfItsOwn) {
  const PlannedNetwork net = network("gpt", {{"batch", 2}, {"layers", 2}, {"seq", 256}});
  MeshPlanOptions options;
  options.is_training = true;
  options.attention = Attention::kFused;
  const Topology machine = topology("dgx-a100x1");
  const MeshEvaluator evaluator(net.graph, net.is_weight, machine, options);
  EXPECT_FALSE(evaluator.can_recompute(Recompute::kAttention));
  EXPECT_TRUE(evaluator.can_recompute(Recompute::kCheap));
}

std::set<std::string> names_in(const PlannedNetwork& net, const LossRegion& region) {
  std::set<std::string> names;
  for (const core::NodeId id : region.nodes) names.insert(net.graph.node(id).name);
  return names;
}

TEST(LossRegion, BeginsAtTheLastProductEvenIfItsWeightIsTheTable) {
  const PlannedNetwork net =
      with_loss(network("gpt", {{"batch", 4}, {"layers", 2}, {"seq", 32}, {"vocabulary", 5000}}));
  const LossRegion region = loss_region(net.graph, training_work(net, Attention::kStored));
  EXPECT_EQ(region.rows, 4 * 32);
  const std::set<std::string> names = names_in(net, region);
  EXPECT_TRUE(names.contains("loss/nll_loss"));
  EXPECT_TRUE(names.contains("loss/log_softmax"));
  for (const std::string& name : names) EXPECT_FALSE(name.starts_with("layer")) << name;
}

TEST(LossRegion, IsNoneWithoutALoss) {
  const PlannedNetwork net = network("gpt", {{"batch", 4}, {"layers", 1}, {"seq", 32}});
  EXPECT_TRUE(loss_region(net.graph, training_work(net, Attention::kStored)).nodes.empty());
}

/// A device holds of the logits, 4 bytes each, what is kept, the gradient, and what is made of
/// them.
TEST(LossRegion, HoldsLogitsOfOneChunk) {
  constexpr double kRows = 64 * 128, kVocabulary = 50000, kLogits = 4 * kRows * kVocabulary;
  const PlannedNetwork net = with_loss(network("gpt", {{"batch", 64},
                                                       {"layers", 1},
                                                       {"hidden", 256},
                                                       {"heads", 4},
                                                       {"seq", 128},
                                                       {"positions", 128},
                                                       {"vocabulary", 50000}}));
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = 1;
  options.freedom = (*named_strategy("data"))->freedom;
  const Topology machine = topology("dgx-a100x1");
  const auto in_chunks = [&](std::int64_t chunks) {
    options.sizes.loss_chunks = chunks;
    const core::StopToken never;
    auto outcome =
        plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
    EXPECT_TRUE(outcome.ok());
    return outcome->plan.time;
  };
  const StepTime whole = in_chunks(1), cut = in_chunks(16);
  EXPECT_GT(whole.peak_bytes, 2 * kLogits);
  EXPECT_LT(cut.peak_bytes, whole.peak_bytes - 1.8 * kLogits);
  EXPECT_GT(cut.total_us, whole.total_us);
  EXPECT_LT(cut.total_us, 1.1 * whole.total_us);

  options.sizes.loss_chunks.reset();
  options.freedom = {};
  options.memory_bytes = 1.2 * cut.peak_bytes;
  options.freedom.microbatches = 1;
  const core::StopToken never;
  const auto found =
      plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->fits);
  EXPECT_GT(found->plan.shape.loss_chunks, 1);
}

TEST(LossRegion, RowsAreDivided) {
  const PlannedNetwork net = with_loss(network("gpt", {{"batch", 3}, {"layers", 1}, {"seq", 5}}));
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = 1;
  options.sizes.loss_chunks = 4;
  const core::StopToken never;
  const auto outcome = plan_on_meshes(net.graph, net.is_weight, topology("dgx-a100x1"), options,
                                      core::silent(), never);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kUnsupported);
  EXPECT_NE(outcome.error().message.find("rows"), std::string::npos) << outcome.error().message;
}

}  // namespace
}  // namespace soapstone::parallel
