// Named strategies: none is bent where it does not apply, and the best plan is no slower than any.
#include "parallel/planning/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {
namespace {

using models::ParameterValues;

core::Result<MeshPlanOutcome> planned_as(const PlannedNetwork& net, const std::string& machine,
                                         const std::string& strategy, MeshPlanOptions options) {
  options.freedom = (*named_strategy(strategy))->freedom;
  const core::StopToken never;
  return plan_on_meshes(net.graph, net.is_weight, topology(machine), options, core::silent(),
                        never);
}

struct Refusal {
  const char* title;
  const char* strategy;
  const char* network;
  ParameterValues sizes;
  const char* machine = "dgx-a100x1";
  const char* reason = "";
  FixedSizes fixed = {};
  std::int64_t devices = 8;
};

ParameterValues gpt_of(std::int64_t batch) {
  return {{"batch", batch}, {"layers", 2}, {"seq", 32}, {"hidden", 64}, {"heads", 4}};
}
ParameterValues moe_of(std::int64_t experts) {
  return {{"batch", 16}, {"layers", 2},        {"seq", 32},   {"hidden", 64},
          {"heads", 4},  {"experts", experts}, {"feed", 128}, {"vocabulary", 100}};
}
FixedSizes fixed_microbatches(std::int64_t count) {
  FixedSizes sizes;
  sizes.microbatches = count;
  return sizes;
}
FixedSizes fixed_model(std::int64_t count) {
  FixedSizes sizes;
  sizes.model = count;
  return sizes;
}
FixedSizes fixed_stages(std::int64_t count) {
  FixedSizes sizes;
  sizes.stages = count;
  return sizes;
}

constexpr const char* kOne = "dgx-a100x1";
constexpr const char* kThree = "dgx-a100x3";

std::vector<Refusal> refusals() {
  return {
      {"UnevenBatch", "data", "gpt", gpt_of(12), kOne, "a batch of 12 does not fit 8 devices"},
      {"MicrobatchesOfTwoOnEight", "data", "gpt", gpt_of(16), kOne, "a batch of 16",
       fixed_microbatches(8)},
      {"UnevenBatchOfZero", "zero-1", "gpt", gpt_of(12), kOne, "a batch of 12"},
      {"GradientsOfMicrobatches", "zero-2", "gpt", gpt_of(16), kOne, "microbatches = 1",
       fixed_microbatches(2)},
      {"AnotherModelAxis", "data", "gpt", gpt_of(16), kOne, "model = 1, and 8", fixed_model(8)},
      {"UnevenBatchOfTheTrick",
       "one-weird-trick",
       "alexnet",
       {{"batch", 12}, {"image", 63}},
       kOne,
       "a batch of 12"},
      {"TrickWithoutLinearLayers", "one-weird-trick", "gpt", gpt_of(16), kOne, "many positions"},
      {"TrickOfTenOutputs", "one-weird-trick", "lenet", {{"batch", 16}}, kOne, "'fc"},
      {"NoStages", "pipeline", "gpt", gpt_of(16), kOne, "no mesh", {}, 1},
      {"OneStage", "pipeline", "gpt", gpt_of(16), kOne, "no mesh", fixed_stages(1)},
      {"PiecesWithoutTurns", "interleaved", "gpt", gpt_of(20), kThree, "a batch of 20", {}, 12},
      {"NoTensorsCut", "megatron", "gpt", gpt_of(16), kOne, "no mesh", fixed_model(1)},
      {"NoSequence", "megatron-sp", "alexnet", {{"batch", 16}, {"image", 63}}, kOne, "no sequence"},
      {"NoContext", "context", "alexnet", {{"batch", 16}, {"image", 63}}, kOne, "no sequence"},
      {"NoExperts", "expert", "gpt", gpt_of(16), kOne, "no experts"},
      {"FewerExpertsThanDevices", "expert", "moe", moe_of(4), kOne, "8 devices do not share the 4"},
      {"UnevenExperts", "expert", "moe", moe_of(12), kOne, "8 devices do not share the 12"},
      {"OneNode", "layers", "gpt", gpt_of(16), kOne, "one node"},
      {"NoNodes", "layers", "gpt", gpt_of(16), "v100-p100", "no nodes", {}, 16},
      {"NoHalves", "bisection", "gpt", gpt_of(16), kThree, "no halves", {}, 3},
  };
}

class RefusedStrategy : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedStrategy, SaysWhyAndHasNoPlan) {
  const Refusal& refusal = GetParam();
  MeshPlanOptions options;
  options.is_training = true;
  options.sizes = refusal.fixed;
  options.devices = refusal.devices;
  const auto outcome = planned_as(network(refusal.network, refusal.sizes), refusal.machine,
                                  refusal.strategy, options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(outcome.error().message, testing::HasSubstr(refusal.reason));
  EXPECT_NE(outcome.error().hint, "");
}

INSTANTIATE_TEST_SUITE_P(All, RefusedStrategy, testing::ValuesIn(refusals()),
                         [](const auto& test) { return std::string(test.param.title); });

TEST(Strategies, ThoseForTrainingAreRefusedForInference) {
  const PlannedNetwork net = network("gpt", gpt_of(16));
  for (const char* const name : {"zero-1", "zero-2", "zero-3"}) {
    const auto outcome = planned_as(net, kOne, name, {});
    ASSERT_FALSE(outcome.ok()) << name;
    EXPECT_THAT(outcome.error().message, testing::HasSubstr("training"));
  }
}

TEST(Strategies, UnevenBatchesSayWhatWouldDo) {
  const PlannedNetwork net = network("gpt", gpt_of(12));
  MeshPlanOptions options;
  EXPECT_THAT(planned_as(net, kOne, "data", options).error().hint,
              testing::HasSubstr("a multiple of 8"));
  options.sizes = fixed_microbatches(2);
  EXPECT_THAT(planned_as(net, kOne, "data", options).error().hint,
              testing::HasSubstr("a multiple of 16"));
}

TEST(Strategies, AnUnknownNameIsWrongUsage) {
  EXPECT_EQ(named_strategy("date").error().code, core::ErrorCode::kUsage);
}

TEST(Strategies, PiecesOfStagesHaveMicrobatchesThatTheStagesDivide) {
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = 12;
  options.sizes = fixed_stages(3);
  const auto outcome = planned_as(network("gpt", gpt_of(24)), kThree, "interleaved", options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().to_string();
  const MeshShape& shape = outcome->plan.shape;
  EXPECT_EQ(shape.stages, 3);
  EXPECT_GT(shape.chunks, 1);
  EXPECT_EQ(shape.microbatches % 3, 0);
  EXPECT_EQ(24 % (shape.microbatches * shape.batch), 0);
}

TEST(Strategies, OneOfThemIsComparedWithDataParallelism) {
  const PlannedNetwork net = network("gpt", gpt_of(16));
  const core::StopToken never;
  const auto names = [&](const char* name, Others others) {
    const auto planned = plan_strategies(net.graph, net.is_weight, topology(kOne), {},
                                         **named_strategy(name), others, core::silent(), never);
    std::vector<std::string> result;
    for (const PlannedStrategy& other : planned->others) result.push_back(other.strategy->name);
    return result;
  };
  EXPECT_THAT(names("megatron", Others::kNeeded), testing::ElementsAre("data"));
  EXPECT_EQ(names("megatron", Others::kAll).size() + 1, named_strategies().size());
  EXPECT_EQ(names("best", Others::kNeeded).size() + 1, named_strategies().size());
}

/// Those that take longest to plan are planned on two machines of four.
const std::vector<const char*> kAllMachines = {"dgx-a100x1", "dgx-h100x2", "v100-p100",
                                               "p100x4-nvlink"};
const std::vector<const char*> kTwoMachines = {"dgx-a100x1", "v100-p100"};

struct SmallNetwork {
  const char* name;
  ParameterValues sizes;
  std::vector<const char*> machines = kAllMachines;
};

std::vector<SmallNetwork> small_networks() {
  const ParameterValues images = {{"batch", 32}, {"image", 32}};
  return {
      {"squeezenet", {{"batch", 32}, {"image", 64}}},
      {"inception_v3", {{"batch", 16}, {"image", 80}, {"width_percent", 50}}, kTwoMachines},
      {"resnet50", images},
      {"resnext50", images, kTwoMachines},
      {"resnet101", images, kTwoMachines},
      {"bert_base", {{"batch", 32}, {"layers", 2}, {"seq", 32}}},
      {"nasrnn", {{"batch", 64}, {"steps", 2}}},
      {"swin", {{"batch", 32}, {"window", 2}, {"image", 64}, {"depth3", 2}}, kTwoMachines},
      {"lenet", {{"batch", 64}}},
      {"alexnet", {{"batch", 256}}},
      {"mlp", {{"batch", 64}}},
      {"gpt", {{"batch", 64}, {"layers", 2}, {"seq", 64}}},
      {"llama", {{"batch", 64}, {"layers", 2}}, kTwoMachines},
      {"moe", {{"batch", 32}, {"layers", 2}}, kTwoMachines},
      {"rnntc", {{"batch", 64}, {"steps", 2}, {"layers", 2}}},
      {"rnnlm", {{"batch", 64}, {"steps", 2}}},
      {"nmt", {{"batch", 64}, {"steps", 2}, {"layers", 1}}},
      {"dlrm", {{"batch", 1024}}},
  };
}

class SmallNetworkPlan : public testing::TestWithParam<SmallNetwork> {};

TEST_P(SmallNetworkPlan, TheBestIsNoSlowerThanAnyStrategyAndNoFasterThanItsBound) {
  const PlannedNetwork net = network(GetParam().name, GetParam().sizes);
  const core::StopToken never;
  MeshPlanOptions options;
  options.is_training = true;
  for (const char* const machine : GetParam().machines) {
    const auto planned =
        plan_strategies(net.graph, net.is_weight, topology(machine), options,
                        named_strategies().front(), Others::kNeeded, core::silent(), never);
    ASSERT_TRUE(planned.ok()) << planned.error().to_string();
    const double best_us = planned->chosen.plan.time.total_us;
    EXPECT_TRUE(planned->chosen.fits) << machine;
    EXPECT_LE(planned->chosen.lower_bound.us, best_us) << machine;
    EXPECT_EQ(planned->others.size() + 1, named_strategies().size());
    for (const auto& [strategy, outcome] : planned->others) {
      if (!outcome.ok() || !outcome->fits) continue;
      EXPECT_LE(best_us, outcome->plan.time.total_us) << strategy->name << " on " << machine;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallNetworkPlan, testing::ValuesIn(small_networks()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace soapstone::parallel
