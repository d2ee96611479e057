// Plans on meshes: what named strategies move is what their closed forms say, and what options and
// machines change.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "parallel/planning/named.h"
#include "parallel/plans/plan_document.h"
#include "parallel/topology/measured_collectives.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {
namespace {

MeshPlanOutcome planned(const PlannedNetwork& net, const Topology& machine,
                        const std::string& strategy, MeshPlanOptions options = {}) {
  const auto named = named_strategy(strategy);
  EXPECT_TRUE(named.ok());
  options.freedom = (*named)->freedom;
  const core::StopToken never;
  auto outcome = plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return *std::move(outcome);
}

MeshPlanOptions training() {
  MeshPlanOptions options;
  options.is_training = true;
  return options;
}

const models::ParameterValues kSmallGpt = {
    {"batch", 64}, {"layers", 2}, {"seq", 64}, {"positions", 64}};

TEST(Planner, DataParallelismSumsEachGradientOnce) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), "data", training());
  EXPECT_EQ(outcome.plan.shape.batch, 8);
  // A ring all-reduce sends 2(n − 1)/n of the bytes from each of n devices.
  EXPECT_NEAR(outcome.plan.time.bytes_moved, 2 * 7 * net.weight_bytes, net.weight_bytes * 1e-6);
}

/// On one machine what no cache holds is far slower: nothing says that one exchange of all weights
/// takes less than several, as the bound on exchanges takes it.
TEST(Planner, MeasuredExchangesHaveNoBound) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  Hierarchy machine{"two threads",
                    {{"thread", "cpu", 1e10, 1e13, {{core::DataType::kFloat32, 1e14}}}},
                    {{0, 2}},
                    {{"memory", 2, 1, 1e9}}};
  const auto closed = Topology::make(machine);
  ASSERT_TRUE(closed);
  EXPECT_GT(planned(net, *closed, "best", training()).lower_bound.exchanges_us, 0);
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter,
                                      Collective::kAllGather, Collective::kAllToAll})
    machine.measured.push_back({collective, 2, {{8, 0.5}, {1e6, 50}, {1e8, 1e5}}});
  const auto measured = Topology::make(machine);
  ASSERT_TRUE(measured) << measured.error().to_string();
  const MeshPlanOutcome outcome = planned(net, *measured, "best", training());
  EXPECT_EQ(outcome.lower_bound.exchanges_us, 0);
  EXPECT_LE(outcome.lower_bound.us, outcome.plan.time.total_us);
}

TEST(Planner, InferenceOnTheBatchMovesNothing) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), "data");
  EXPECT_EQ(outcome.plan.time.bytes_moved, 0);
  EXPECT_EQ(outcome.plan.time.gradient_sum_us, 0);
}

TEST(Planner, CutStatesAndWeightsTakeLessMemory) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const Topology machine = topology("dgx-a100x1");
  const double whole = planned(net, machine, "data", training()).plan.time.peak_bytes;
  const double cut_states = planned(net, machine, "zero-1", training()).plan.time.peak_bytes;
  // Adam's two states are half of the memory for weights; seven of eight parts of them go.
  EXPECT_NEAR(whole - cut_states, 2 * net.weight_bytes * 7 / 8, net.weight_bytes * 0.01);
  MeshPlanOptions little = training();
  little.memory_bytes = cut_states * 0.9;
  const MeshPlanOutcome cut_weights = planned(net, machine, "zero-3", little);
  EXPECT_TRUE(cut_weights.fits);
  EXPECT_LE(cut_weights.plan.time.peak_bytes, *little.memory_bytes);
}

TEST(Planner, CutGradientsTakeLessMemoryAndMoveAsMuch) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const Topology machine = topology("dgx-a100x1");
  const StepTime first = planned(net, machine, "zero-1", training()).plan.time;
  const StepTime second = planned(net, machine, "zero-2", training()).plan.time;
  EXPECT_NEAR(first.peak_bytes - second.peak_bytes, net.weight_bytes * 7 / 8,
              net.weight_bytes * 0.01);
  EXPECT_NEAR(second.bytes_moved, 2 * 7 * net.weight_bytes, net.weight_bytes * 1e-6);
}

TEST(Planner, CutWeightsAreGatheredForwardAndBackwardAndTheirGradientsScattered) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const Topology machine = topology("dgx-a100x1");
  const StepTime second = planned(net, machine, "zero-2", training()).plan.time;
  const StepTime third = planned(net, machine, "zero-3", training()).plan.time;
  EXPECT_NEAR(third.bytes_moved, 3 * 7 * net.weight_bytes, net.weight_bytes * 1e-6);
  EXPECT_NEAR(second.memory.weight_bytes - third.memory.weight_bytes, net.weight_bytes * 7 / 8,
              net.weight_bytes * 0.01);
}

TEST(Planner, OneWeirdTrickSumsGradientsOfConvolutionsAndGathersInputsOfLinearLayers) {
  constexpr double kBatch = 64;
  const PlannedNetwork net = network("alexnet", {{"batch", 64}});
  const MeshPlanOutcome outcome =
      planned(net, topology("dgx-a100x1"), "one-weird-trick", training());
  constexpr double kConvolutions = 64 * 3 * 121 + 64 + 192 * 64 * 25 + 192 + 384 * 192 * 9 + 384 +
                                   256 * 384 * 9 + 256 + 256 * 256 * 9 + 256;
  constexpr double kLinearInputs = kBatch * (9216 + 4096 + 4096);
  // Inputs are gathered, and their gradients scattered: (n − 1) times their bytes, either way.
  EXPECT_NEAR(outcome.plan.time.bytes_moved, 2 * 7 * 4 * (kConvolutions + kLinearInputs), 1e3);
}

TEST(Planner, LayersOnNodesSumGradientsWithinTheNodeAndHandOver) {
  const PlannedNetwork net = network(
      "mlp", {{"batch", 64}, {"layers", 8}, {"inputs", 256}, {"hidden", 256}, {"outputs", 256}});
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x2"), "layers", training());
  EXPECT_EQ(outcome.plan.shape.stages, 2);
  EXPECT_EQ(outcome.plan.shape.batch, 8);
  EXPECT_NEAR(outcome.plan.time.bytes_moved, 2 * 7 * net.weight_bytes + 2 * 64 * 256 * 4, 1e3);
}

TEST(Planner, ExpertsExchangeTokensAndSumNoGradients) {
  const PlannedNetwork net = network("moe", {{"batch", 16},
                                             {"layers", 2},
                                             {"top", 1},
                                             {"positions", 32},
                                             {"seq", 32},
                                             {"hidden", 64},
                                             {"heads", 4},
                                             {"feed", 128},
                                             {"vocabulary", 1000}});
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), "expert", training());
  constexpr double kExpertBytes = 4.0 * 8 * 2 * 64 * 128;  // One layer of two has experts.
  constexpr double kPlaces = 32.0 / 8;
  constexpr double kTokenBytes = 4.0 * 16 * 8 * kPlaces * 64;
  // To the experts and back, forward and backward.
  EXPECT_NEAR(outcome.plan.time.bytes_moved,
              2 * 7 * (net.weight_bytes - kExpertBytes) + 4 * kTokenBytes * 7 / 8, 1e3);
}

TEST(Planner, BisectionOfALargeBatchIsDataParallel) {
  const PlannedNetwork net = network(
      "mlp", {{"batch", 65536}, {"layers", 4}, {"inputs", 512}, {"hidden", 512}, {"outputs", 512}});
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), "bisection", training());
  EXPECT_EQ(outcome.plan.axis_sizes, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_NEAR(outcome.plan.time.bytes_moved, 2 * 7 * net.weight_bytes, 1e3);
}

TEST(Planner, BisectionOfLargeWeightsCutsTheWeights) {
  const PlannedNetwork net = network(
      "mlp", {{"batch", 64}, {"layers", 4}, {"inputs", 8192}, {"hidden", 8192}, {"outputs", 8192}});
  const StepTime time = planned(net, topology("dgx-a100x1"), "bisection", training()).plan.time;
  EXPECT_LT(time.bytes_moved, net.weight_bytes / 8);
  EXPECT_LT(time.peak_bytes, net.weight_bytes);
}

TEST(Planner, ThreadsChangeNothing) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const Topology machine = topology("dgx-a100x2");
  MeshPlanOptions options = training();
  const double bytes = planned(net, machine, "best", options).plan.time.peak_bytes;
  for (const double share : {1.0, 0.5}) {
    options.memory_bytes = bytes * share;
    std::set<std::string> plans;
    for (const int threads : {1, 3}) {
      options.threads = threads;
      plans.insert(plan_to_json(
          document_of(net.graph, net.is_weight, machine, planned(net, machine, "best", options))));
    }
    EXPECT_EQ(plans.size(), 1U) << share;
  }
}

TEST(Planner, NarrowWeightsHaveAMasterCopyWhateverMakesThemNarrow) {
  const Topology machine = topology("dgx-a100x1");
  const PlannedNetwork narrow = network("gpt", kSmallGpt, core::DataType::kFloat16);
  MeshPlanOptions as_if = training();
  as_if.precision = core::DataType::kFloat16;
  EXPECT_DOUBLE_EQ(planned(narrow, machine, "data", training()).plan.time.peak_bytes,
                   planned(network("gpt", kSmallGpt), machine, "data", as_if).plan.time.peak_bytes);
}

TEST(Planner, AttentionAloneIsComputedAgainWhereThatIsEnough) {
  const PlannedNetwork net =
      network("gpt", {{"batch", 8}, {"layers", 2}, {"seq", 1024}, {"hidden", 256}, {"heads", 16}});
  const Topology machine = topology("dgx-a100x1");
  MeshPlanOptions options = training();
  options.devices = 1;
  options.freedom.microbatches = 1;
  const core::StopToken never;
  const auto at = [&](double memory) {
    options.memory_bytes = memory;
    const auto outcome =
        plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
    EXPECT_TRUE(outcome.ok());
    return outcome->plan;
  };
  const MeshPlan roomy = at(1e12);
  EXPECT_EQ(roomy.shape.recompute, Recompute::kNothing);
  const MeshPlan tight = at(roomy.time.peak_bytes * 0.9);
  EXPECT_EQ(tight.shape.recompute, Recompute::kAttention);
  EXPECT_LT(tight.time.memory.kept_bytes, 0.5 * roomy.time.memory.kept_bytes);
  EXPECT_GT(tight.time.total_us, roomy.time.total_us);
}

TEST(Planner, StagesOfFasterDevicesHaveMoreLayers) {
  const PlannedNetwork net = network("gpt", {{"batch", 64}, {"layers", 12}, {"seq", 256}});
  const Topology machine = topology("v100-p100");
  MeshPlanOptions options = training();
  options.freedom.stages = 2;
  const core::StopToken never;
  const auto outcome =
      plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  ASSERT_TRUE(outcome.ok());
  const std::vector<std::int32_t>& stages = outcome->plan.piece_of_node;
  EXPECT_GT(std::ranges::count(stages, 0), std::ranges::count(stages, 1));
}

TEST(Planner, UpdatesTakeAsLongAsTheMemoryOfTheStageIsSlow) {
  const PlannedNetwork net = network("gpt", {{"batch", 64}, {"layers", 12}, {"seq", 256}});
  const Topology machine = topology("v100-p100");
  MeshPlanOptions options = training();
  options.sizes.stages = 2;
  const MeshPlan plan = planned(net, machine, "pipeline", options).plan;
  std::array<double, 2> us{}, bytes{};
  for (std::size_t n = 0; n < plan.estimates.size(); ++n) {
    if (plan.piece_of_node[n] < 0) continue;
    const auto stage = static_cast<std::size_t>(stage_of(plan, core::NodeId(n)));
    us[stage] += plan.estimates[n].update_us;
    bytes[stage] += plan.estimates[n].weight_bytes;
  }
  constexpr double kV100 = 900, kP100 = 732;
  EXPECT_NEAR(us[1] / bytes[1], us[0] / bytes[0] * kV100 / kP100, us[0] / bytes[0] * 1e-6);
}

TEST(Planner, FasterDevicesGetMoreOfWhatIsCut) {
  const PlannedNetwork net = network("resnet50", {{"batch", 512}});
  const Topology machine = topology("v100-p100");
  const Topology alike = topology("p100x4-nvlink");
  MeshPlanOptions even = training();
  const MeshPlanOutcome uneven = planned(net, machine, "best", even);
  ASSERT_TRUE(uneven.plan.shape.is_uneven);
  const auto named = named_strategy("best");
  even.freedom = (*named)->freedom;
  even.freedom.cuts_unevenly = false;
  const core::StopToken never;
  const auto evenly =
      plan_on_meshes(net.graph, net.is_weight, machine, even, core::silent(), never);
  ASSERT_TRUE(evenly.ok());
  EXPECT_FALSE(evenly->plan.shape.is_uneven);
  EXPECT_LT(uneven.plan.time.total_us, 0.9 * evenly->plan.time.total_us);
  EXPECT_LE(uneven.lower_bound.us, uneven.plan.time.total_us);

  PlanDocument document = document_of(net.graph, net.is_weight, machine, uneven);
  const PlanAxis& axis = document.axes[uneven.plan.uneven->axis];
  ASSERT_EQ(static_cast<std::int64_t>(axis.shares.size()), axis.size);
  EXPECT_GE(5 * axis.shares.front(), 6 * axis.shares.back());  // V100 come first
  EXPECT_FALSE(planned(net, alike, "best", training()).plan.shape.is_uneven);
  EXPECT_FALSE(planned(net, machine, "data", training()).plan.shape.is_uneven);
}

TEST(Planner, WhatFitsNowhereSaysSo) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  MeshPlanOptions tiny = training();
  tiny.memory_bytes = 1e6;
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), "best", tiny);
  EXPECT_FALSE(outcome.fits);
  EXPECT_GT(outcome.plan.time.peak_bytes, 1e6);
}

TEST(Planner, MegatronCutsHeadsAndHiddenLayersAndSumsTwiceALayerAndDirection) {
  const PlannedNetwork net =
      network("gpt", {{"batch", 8}, {"layers", 4}, {"hidden", 1024}, {"heads", 16}, {"seq", 512}});
  MeshPlanOptions options = training();
  options.sizes.model = 8;
  const MeshPlanOutcome outcome = planned(net, topology("dgx-a100x1"), "megatron", options);
  const PlanDocument document =
      document_of(net.graph, net.is_weight, topology("dgx-a100x1"), outcome);
  std::map<std::string, std::map<std::string, std::vector<std::string>>> cuts;
  for (const PlannedNode& node : document.nodes) cuts[node.name] = document.cuts[node.cuts].loops;
  const std::vector<std::string> model{"model"};
  for (const char* const part : {"query", "key", "value"})
    EXPECT_EQ(cuts[std::string("layer1/attention/") + part]["parameter"], model) << part;
  EXPECT_EQ(cuts["layer1/feed1"]["parameter"], model);
  EXPECT_EQ(cuts["layer1/feed2"]["reduction"], model);
}

TEST(Planner, IsDeterministic) {
  const PlannedNetwork net = network("gpt", kSmallGpt);
  const Topology machine = topology("dgx-h100x2");
  const auto json = [&] {
    return plan_to_json(
        document_of(net.graph, net.is_weight, machine, planned(net, machine, "best", training())));
  };
  EXPECT_EQ(json(), json());
}

}  // namespace
}  // namespace soapstone::parallel
