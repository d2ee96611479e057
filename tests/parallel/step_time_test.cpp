// Steps on meshes: what goes over one wire shares it, sums go in buckets beside the backward pass,
// memory is what closed forms say, and the picture of a step takes as long as its plan.
#include "parallel/step/step_time.h"

#include <gtest/gtest.h>

#include <set>

#include "parallel/planning/mesh_evaluation.h"
#include "parallel/planning/named.h"
#include "parallel/plans/plan_document.h"
#include "parallel/simulation/step_simulation.h"
#include "parallel/step/handovers.h"
#include "parallel/step/model_order.h"
#include "parallel/step/pipeline_run.h"
#include "parallel/step/weight_traffic.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {
namespace {

MeshPlanOptions training_on(const std::string& strategy) {
  MeshPlanOptions options;
  options.is_training = true;
  options.freedom = (*named_strategy(strategy))->freedom;
  return options;
}

MeshPlanOutcome planned(const PlannedNetwork& net, const Topology& machine,
                        const MeshPlanOptions& options) {
  const core::StopToken never;
  auto outcome = plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return *std::move(outcome);
}

TEST(Handovers, ShareTheWireThatTheyAllPass) {
  const Topology machine = topology("v100-p100");
  const double alone = machine.path(DeviceId(std::size_t{0}), DeviceId(std::size_t{8})).bytes_per_s;
  const std::vector<Path> paths = handovers(machine, 16, 2, false);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_DOUBLE_EQ(paths[0].bytes_per_s, alone / 8);
}

TEST(Handovers, OfANodeShareItsPort) {
  const Topology machine = topology("k80x4-ib");  // four devices share a port
  const double alone = machine.path(DeviceId(std::size_t{0}), DeviceId(std::size_t{4})).bytes_per_s;
  EXPECT_DOUBLE_EQ(handovers(machine, 64, 16, false)[0].bytes_per_s, alone / 4);
  const std::vector<Path> ring = handovers(machine, 64, 16, true);
  EXPECT_EQ(ring.size(), 16U);
  EXPECT_DOUBLE_EQ(ring[15].bytes_per_s, alone / 4);
}

TEST(PipelineRun, OfEvenStagesFillsAndDrainsOnce) {
  MeshShape shape;
  shape.stages = 4;
  shape.microbatches = 8;
  const std::vector<PieceTimes> pieces(4, {100, 200, 0});
  const std::vector<Path> paths(3, Path{0, 1e9});
  const PipelineRun run = run_pipeline(shape, true, pieces, paths);
  EXPECT_DOUBLE_EQ(run.end_us, (8 + 3) * 300.0);
  EXPECT_DOUBLE_EQ(run.stage_end_us[0], run.end_us);
}

TEST(PipelineRun, WaitsForAPathThatIsSlowerThanAStage) {
  MeshShape shape;
  shape.stages = 2;
  shape.microbatches = 10;
  const std::vector<PieceTimes> pieces{{10, 0, 100e3}, {10, 0, 0}};  // 100 us on the path
  const PipelineRun run = run_pipeline(shape, false, pieces, {Path{5, 1e9}});
  EXPECT_DOUBLE_EQ(run.end_us, 10 + 10 * 100 + 5 + 10);
}

/// Collectives take one microsecond for each byte.
Mesh counting_mesh() {
  return Mesh({1, 1, 2}, [](Collective, std::size_t, double bytes) { return bytes; });
}

WeightExchange summed(double bytes) {
  WeightExchange exchange;
  exchange.bytes = bytes;
  exchange.to.axes[2] = kBroadcast;
  return exchange;
}

WeightExchange gathered(double bytes) {
  WeightExchange exchange = summed(bytes);
  exchange.from.axes[2] = 0;
  exchange.is_gathered = true;
  return exchange;
}

TEST(WeightTraffic, SumsBucketsBesideTheBackwardPass) {
  const Mesh mesh = counting_mesh();
  const WeightExchange exchange = summed(10);
  const std::vector<ExchangesOfNode> exchanges(4, {&exchange});
  const WeightTraffic traffic(mesh, 20, std::vector<PassNode>(4, {100, 100}), exchanges,
                              {.is_training = true});
  EXPECT_EQ(traffic.sums(), (std::vector<double>{20, 0, 20, 0}));
  EXPECT_EQ(traffic.backward_us(), 400);
  // The bucket of the first two nodes is full when the pass ends.
  EXPECT_EQ(traffic.summed_us(1000, 0), 1000 + 400 + 20);
  EXPECT_EQ(traffic.summed_us(1000, 1500), 1500 + 40);
}

TEST(WeightTraffic, GathersOneUnitAhead) {
  const Mesh mesh = counting_mesh();
  const WeightExchange exchange = gathered(30);
  const std::vector<ExchangesOfNode> exchanges(3, {&exchange});
  const WeightTraffic traffic(mesh, 1, std::vector<PassNode>(3, {100, 100}), exchanges,
                              {.is_training = true});
  EXPECT_EQ(traffic.forward_us(), 30 + 300);  // the first one is waited for
  // The gradients of the last unit are scattered when all else is done.
  EXPECT_EQ(traffic.backward_us(), 30 + 300 + 30);
  const WeightTraffic kept(mesh, 1, std::vector<PassNode>(3, {100, 100}), exchanges,
                           {.is_training = true, .gathers_once = true});
  EXPECT_EQ(kept.backward_us(), 300 + 30);
  EXPECT_EQ(kept.buffer_bytes(), 90);
}

TEST(WeightTraffic, UnlikeDevicesWaitWhereTheyExchangeAlone) {
  const Mesh mesh = counting_mesh();
  PassNode first{50, 0}, second{50, 0};
  first.by_position = {{10, 0}, {90, 0}};
  second.by_position = {{90, 0}, {10, 0}};
  const std::vector<ExchangesOfNode> none(2);
  EXPECT_EQ(WeightTraffic(mesh, 1, {first, second}, none, {}).forward_us(), 100);
  second.forward_exchange_us = 5;
  EXPECT_EQ(WeightTraffic(mesh, 1, {first, second}, none, {}).forward_us(), 90 + 5 + 90);
}

/// The convolutions of ResNet-50 have 161 weights; plain data parallelism hides most of their sums.
TEST(StepTime, DataParallelismHidesItsSums) {
  const PlannedNetwork net = network("resnet50", {{"batch", 1024}});
  const StepTime time = planned(net, topology("dgx-a100x64"), training_on("data")).plan.time;
  EXPECT_LT(time.gradient_sum_us, 0.15 * time.total_us);
  EXPECT_LT(time.total_us, 9000);
}

TEST(StepTime, ActivationsOfInferenceHaveToFit) {
  const PlannedNetwork net = network("gpt", {{"batch", 1 << 20}, {"layers", 2}});
  MeshPlanOptions options;
  options.freedom = (*named_strategy("data"))->freedom;
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), options);
  EXPECT_FALSE(outcome.fits);
}

TEST(StepTime, AWeightOfTwoStagesLiesOnBoth) {
  const PlannedNetwork net =
      network("gpt", {{"batch", 16}, {"layers", 2}, {"hidden", 256}, {"heads", 4}, {"seq", 64}});
  MeshPlanOptions options = training_on("pipeline");
  options.devices = 2;
  const MeshPlan plan = planned(net, topology("dgx-a100x1"), options).plan;
  std::array<double, 2> bytes{};
  for (std::size_t n = 0; n < plan.estimates.size(); ++n)
    if (plan.piece_of_node[n] >= 0)
      bytes[static_cast<std::size_t>(stage_of(plan, core::NodeId(n)))] +=
          plan.estimates[n].weight_bytes;
  double table = 0;
  for (const HeldWeight& weight : plan.sharding.weights)
    table = std::max(table, weight.weight_bytes + weight.gradient_bytes + weight.state_bytes);
  EXPECT_GT(bytes[0], table);
  EXPECT_GE(bytes[1], table);
}

/// Two bytes of each element between layers, and nothing else, as V. Korthikanti et al. count.
TEST(StepTime, RecomputationKeepsWhatLayersRead) {
  constexpr double kBatch = 4, kTokens = 256, kHidden = 512, kLayers = 12;
  const PlannedNetwork net = network("gpt", {{"batch", 4},
                                             {"layers", 12},
                                             {"hidden", 512},
                                             {"heads", 8},
                                             {"seq", 256},
                                             {"positions", 256}});
  MeshPlanOptions options = training_on("data");
  options.precision = core::DataType::kFloat16;
  options.devices = 1;
  options.sizes.recompute = Recompute::kAll;
  const StepMemory memory = planned(net, topology("dgx-a100x1"), options).plan.time.memory;
  const double layer = 2 * kBatch * kTokens * kHidden;
  EXPECT_GE(memory.kept_bytes, kLayers * layer);
  EXPECT_LE(memory.kept_bytes, (kLayers + 3) * layer);  // before the first, at the head, tokens
}

TEST(ModelOrder, BlocksAreLayers) {
  const PlannedNetwork net = network("gpt", {{"batch", 4}, {"layers", 6}, {"seq", 64}});
  const StepWork work = step_work(net.graph, net.is_weight, {});
  const ModelOrder order = model_order(net.graph, work);
  std::multiset<std::string> layers_of_ends;
  for (std::size_t k = 0; k < order.nodes.size(); ++k) {
    const std::string& name = net.graph.node(order.nodes[k]).name;
    if (order.ends_block[k]) layers_of_ends.insert(name.substr(0, name.find('/')));
  }
  for (const char* const layer : {"layer1", "layer2", "layer3", "layer4"})
    EXPECT_EQ(layers_of_ends.count(layer), 1U) << layer;
}

class PictureOfAStep : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SumsBehind, PictureOfAStep, testing::Bool());

TEST_P(PictureOfAStep, TakesAsLongAsItsPlanWhateverTheStrategy) {
  const PlannedNetwork net =
      network("gpt", {{"batch", 32}, {"layers", 4}, {"hidden", 256}, {"heads", 8}, {"seq", 128}});
  const Topology machine = topology("dgx-a100x2");
  for (const NamedStrategy& strategy : named_strategies()) {
    const core::StopToken never;
    MeshPlanOptions options = training_on(strategy.name);
    options.sizes.sums_behind = GetParam();
    const auto outcome =
        plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
    if (!outcome) continue;
    PlanDocument plan = document_of(net.graph, net.is_weight, machine, *outcome);
    plan.is_training = true;
    const auto step = simulate_step(plan, machine, {});
    ASSERT_TRUE(step.ok()) << step.error().to_string();
    const double us = to_us(step->timeline.end);
    EXPECT_NEAR(us, plan.time.total_us, 0.005 * us) << strategy.name;
  }
}

TEST(StepTime, SumsBehindThePassesAreAllWaitedFor) {
  const PlannedNetwork net = network("gpt", {{"batch", 32}, {"layers", 4}, {"seq", 128}});
  MeshPlanOptions options = training_on("data");
  const StepTime beside = planned(net, topology("dgx-a100x2"), options).plan.time;
  options.sizes.sums_behind = true;
  const MeshPlan plan = planned(net, topology("dgx-a100x2"), options).plan;
  double sums_us = 0;
  for (const NodeEstimate& node : plan.estimates) sums_us += node.gradient_sum_us;
  EXPECT_NEAR(plan.time.gradient_sum_us, sums_us, 1e-6 * sums_us);
  EXPECT_LT(beside.gradient_sum_us, 0.8 * sums_us);
  EXPECT_NEAR(plan.time.total_us - sums_us, beside.total_us - beside.gradient_sum_us,
              1e-6 * beside.total_us);
}

/// The table is summed last, and waited for: in small buckets it starts earlier.
TEST(Planner, BucketsAreAsLargeAsIsBest) {
  const PlannedNetwork net = network("gpt", {{"batch", 64}, {"layers", 4}, {"seq", 128}});
  MeshPlanOptions options = training_on("data");
  const Topology machine = topology("dgx-a100x2");
  const MeshPlan usual = planned(net, machine, options).plan;
  EXPECT_EQ(usual.bucket_bytes, kUsualBucket);
  options.freedom.bucket_bytes.reset();
  const MeshPlan best = planned(net, machine, options).plan;
  EXPECT_NE(best.bucket_bytes, kUsualBucket);
  EXPECT_LT(best.time.total_us, usual.time.total_us);
  options.sizes.bucket_bytes = best.bucket_bytes;
  EXPECT_EQ(planned(net, machine, options).plan.time.total_us, best.time.total_us);
}

TEST(NamedStrategy, HeadsAreSharedEvenly) {
  const PlannedNetwork net =
      network("gpt", {{"batch", 32}, {"layers", 2}, {"hidden", 768}, {"heads", 12}, {"seq", 64}});
  MeshPlanOptions options = training_on("megatron");
  const core::StopToken never;
  options.sizes.model = 8;
  const auto outcome = plan_on_meshes(net.graph, net.is_weight, topology("dgx-a100x1"), options,
                                      core::silent(), never);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kUnsupported);
  EXPECT_NE(outcome.error().message.find("heads"), std::string::npos);
  options.sizes.model = 4;
  EXPECT_EQ(planned(net, topology("dgx-a100x1"), options).plan.shape.model, 4);
}

TEST(NamedStrategy, HybridShardingCutsWeightsWithinNodes) {
  const PlannedNetwork net = network("gpt", {{"batch", 64}, {"layers", 2}, {"seq", 64}});
  const Topology machine = topology("dgx-a100x2");
  const StepMemory all = planned(net, machine, training_on("fsdp")).plan.time.memory;
  const StepMemory within = planned(net, machine, training_on("hsdp")).plan.time.memory;
  EXPECT_NEAR(within.weight_bytes, 2 * all.weight_bytes, 0.02 * within.weight_bytes);
}

TEST(Planner, MicrobatchesAreAnyDivisorsOfTheBatch) {
  const PlannedNetwork net =
      network("gpt", {{"batch", 45}, {"layers", 6}, {"hidden", 256}, {"heads", 4}, {"seq", 64}});
  MeshPlanOptions options = training_on("pipeline");
  options.sizes.stages = 2;
  options.devices = 2;
  const MeshShape shape = planned(net, topology("dgx-a100x1"), options).plan.shape;
  EXPECT_GT(shape.microbatches, 1);
  EXPECT_EQ(45 % shape.microbatches, 0);
}

}  // namespace
}  // namespace soapstone::parallel
