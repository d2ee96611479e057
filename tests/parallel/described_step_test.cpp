// Steps of described plans: times that follow from the profiles by adding up, who waits for whom,
// memory. The cluster is that of described_profiles.h.
#include "parallel/described/described_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/parallel/described_profiles.h"

namespace soapstone::parallel {
namespace {

using StepJson = nlohmann::ordered_json;

Profiles profiles_of(const StepJson& json) {
  auto profiles = profiles_from_json(json.dump());
  EXPECT_TRUE(profiles.ok()) << profiles.error().to_string();
  return *std::move(profiles);
}

core::Result<DescribedOutcome> simulated(const StepJson& plan,
                                         const StepJson& profiles = described_profiles()) {
  auto plans = described_plans_from_json(plan.dump());
  EXPECT_TRUE(plans.ok()) << plans.error().to_string();
  return simulate_described(plans->front(), profiles_of(profiles));
}

DescribedOutcome outcome_of(const StepJson& plan, const StepJson& profiles = described_profiles()) {
  auto outcome = simulated(plan, profiles);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return *std::move(outcome);
}

StepJson single_stage(std::int64_t microbatches) {
  StepJson plan = described_plan();
  plan["stages"].erase(1);
  plan["stages"][0]["layers"] = {0, 1, 2, 3};
  plan["global_batch"] = plan["microbatches"] = microbatches;
  return plan;
}

StepJson with_replicas(StepJson plan, const std::vector<std::string>& devices) {
  for (StepJson& stage : plan["stages"]) {
    stage["devices"] = devices;
    stage["data_parallel"] = devices.size();
  }
  plan["global_batch"] = plan["microbatches"].get<std::int64_t>() * devices.size();
  return plan;
}

// On two GPUs the model has 35 million parameters a GPU, and Adam (7 passes over memory) takes
// 0.28 s for all of them: a pass takes 0.04 s for 35 million, and buckets take 6.
constexpr double kBucketsS = 0.24, kUpdateS = 0.28;

TEST(DescribedStep, OneStageAddsUpItsLayers) {
  const DescribedOutcome outcome = outcome_of(single_stage(5));
  EXPECT_NEAR(outcome.stages[0].compute_s, 5 * 24, 1e-9);
  EXPECT_NEAR(outcome.stages[0].sum_s, kBucketsS, 1e-9);
  EXPECT_NEAR(outcome.stages[0].update_s, kUpdateS, 1e-9);
  EXPECT_NEAR(outcome.iteration_s, 5 * 24 + kBucketsS + kUpdateS, 1e-6);
  EXPECT_EQ(outcome.stages[0].waiting_s, 0);
}

// A copy of 100 MB crosses a link of 1 GB/s in 0.1 s, and two GPUs gather it at 10 GB/s from halves
// in 0.005 s, with 5 passes over 25 million elements. Stage 1 (15 s a microbatch) is the slowest,
// and holds the link before each of its forward passes: first for an activation, later for a
// gradient and an activation.
constexpr double kWireS = 0.1, kSentInNodeS = 0.005, kGatherS = kSentInNodeS + 5 * 0.04 * 25 / 35;

TEST(DescribedStep, StagesHoldEachOtherWhileTheyHandOver) {
  const DescribedOutcome outcome = outcome_of(described_plan());
  const double filling = 3 + kWireS;  // The first forward pass of stage 0, and its activation.
  // A gradient, which is gathered as is the result that it is of.
  const double last_backward = kWireS + 2 * kGatherS + 6;
  const double passes = filling + 4 * (kGatherS + 15) + 3 * 2 * kWireS + last_backward;
  // Behind it, stage 0 sums and updates 15 of the 35 million parameters.
  EXPECT_NEAR(outcome.iteration_s, passes + (kBucketsS + kUpdateS) * 15 / 35, 1e-6);
  EXPECT_NEAR(outcome.stages[0].handover_s, 4 * (2 * kWireS + 2 * kGatherS), 1e-9);
  EXPECT_NEAR(outcome.stages[1].handover_s, 4 * (2 * kWireS + kGatherS), 1e-9);

  StepJson both_ways = described_plan();
  both_ways["framework"]["handovers"] = "both_ways";
  const double less_s = 3 * kWireS + 4 * (kGatherS - kSentInNodeS) + 2 * kGatherS - kSentInNodeS;
  EXPECT_NEAR(outcome_of(both_ways).iteration_s, outcome.iteration_s - less_s, 1e-6);
}

// An embedding's gradient: 4 passes over its 10 million parameters, 2 over its result of 25 million
// elements, each at 35 million in 0.04 s.
TEST(DescribedStep, TheBackwardPassOfAnEmbeddingIsCounted) {
  StepJson profiles = described_profiles();
  profiles["models"]["small"]["layer_kinds"][0] = "embedding";
  const double without = outcome_of(single_stage(5)).iteration_s;
  EXPECT_NEAR(outcome_of(single_stage(5), profiles).iteration_s - without,
              5 * (4 * 10 + 2 * 25) * 0.04 / 35, 1e-6);
}

// A ring of two replicas: each of two GPUs sends half of 140 MB there and half back on a link that
// both share.
TEST(DescribedStep, ReplicasWaitForTheSlowestAndSumInARing) {
  const double ring = 2 * 2 * 70e6 / 1e9;
  const DescribedOutcome alike = outcome_of(with_replicas(single_stage(5), {"fast", "fast"}));
  EXPECT_NEAR(alike.iteration_s, 5 * 24 + kBucketsS + ring + kUpdateS, 1e-6);
  EXPECT_EQ(alike.step.problem.device_count, 1U);

  const DescribedOutcome mixed = outcome_of(with_replicas(single_stage(5), {"fast", "slow"}));
  EXPECT_NEAR(mixed.iteration_s, 2 * 5 * 24 + kBucketsS + ring + kUpdateS, 1e-6);
  EXPECT_EQ(mixed.stages[0].slowest_replica, 1U);
  EXPECT_EQ(mixed.step.problem.device_count, 2U);
}

// 1 and 4 samples were profiled: 2 lie between them, and 8 beyond both.
TEST(DescribedStep, MicrobatchesBetweenProfilesAreInterpolated) {
  StepJson profiles = described_profiles();
  for (StepJson& entry : profiles["profiles"]["small"]["fast"])
    if (entry["microbatch"] == 1) entry["forward_s"] = {4, 8, 8, 12};  // As long as 4 samples take.
  StepJson plan = single_stage(2);
  plan["microbatch"] = 2;
  plan["global_batch"] = 4;
  EXPECT_NEAR(outcome_of(plan, profiles).stages[0].compute_s, 2 * (32 + 2 * 16), 1e-9);
  plan["microbatch"] = 8;
  plan["global_batch"] = 16;
  EXPECT_NEAR(outcome_of(plan, profiles).stages[0].compute_s, 2 * (32 + 8 * 16), 1e-9);
}

TEST(DescribedStep, AMicrobatchTakesNoLongerThanALargerOne) {
  StepJson profiles = described_profiles();
  for (StepJson& entry : profiles["profiles"]["small"]["fast"])
    if (entry["microbatch"] == 1)
      entry["forward_s"] = {7, 2, 2, 3};  // 4 samples of layer 0 take 4.
  EXPECT_NEAR(outcome_of(single_stage(5), profiles).stages[0].compute_s, 5 * (4 + 7 + 16), 1e-9);
}

TEST(DescribedStep, AStepOfVeryManyMicrobatchesGoesOnAtItsPace) {
  const std::int64_t many = 100'000;
  const DescribedOutcome outcome = outcome_of(single_stage(many));
  EXPECT_LT(outcome.told_microbatches, many);
  EXPECT_NEAR(outcome.iteration_s / (24.0 * many + kBucketsS + kUpdateS), 1, 1e-9);

  StepJson plan = described_plan();
  plan["microbatches"] = plan["global_batch"] = many;
  const double pace = outcome_of(plan).iteration_s / static_cast<double>(many);
  EXPECT_NEAR(pace, 15 + 2 * kWireS + kGatherS, 1e-3);
}

TEST(DescribedStep, MemoryIsWhatAFullStageHoldsAtOnce) {
  StepJson plan = described_plan();
  plan["framework"] = {{"context_mb", 500},
                       {"communicators", 2},
                       {"communicator_mb", 100},
                       {"fragmentation", 0.1},
                       {"bucket_elements", 5e6}};
  const DescribedOutcome outcome = outcome_of(plan);
  const DescribedMemory& first = outcome.stages[0].memory;
  EXPECT_DOUBLE_EQ(first.parameter_bytes, 60e6);
  EXPECT_DOUBLE_EQ(first.state_bytes, 120e6);
  EXPECT_DOUBLE_EQ(first.saved_bytes, 2 * 220e6);  // Two microbatches are under way.
  EXPECT_DOUBLE_EQ(first.working_bytes, 200e6);
  EXPECT_DOUBLE_EQ(first.bucket_bytes, 20e6);
  EXPECT_DOUBLE_EQ(first.fragment_bytes, 64e6);
  EXPECT_DOUBLE_EQ(first.framework_bytes, 700e6);
  EXPECT_DOUBLE_EQ(outcome.stages[1].memory.saved_bytes, 300e6);
  EXPECT_DOUBLE_EQ(outcome.peak_bytes(), first.total_bytes());
  EXPECT_TRUE(outcome.fits());

  StepJson small = described_profiles();
  small["devices"]["fast"]["memory_mb"] = 1500;
  EXPECT_FALSE(outcome_of(plan, small).stages[0].fits());
}

// The picture of memory comes from the tasks, the report from a formula.
TEST(DescribedStep, ThePictureHoldsWhatTheReportSays) {
  for (const std::int64_t microbatches : {1, 2, 7}) {
    StepJson plan = described_plan();
    plan["microbatches"] = plan["global_batch"] = microbatches;
    const DescribedOutcome outcome = outcome_of(plan);
    const auto memory =
        memory_over_time(outcome.step.problem, outcome.step.placement, outcome.step.timeline);
    ASSERT_EQ(memory.size(), 2U);
    for (std::size_t s = 0; s < 2; ++s) {
      double most = 0;
      for (const MemoryStep& step : memory[s]) most = std::max(most, step.bytes);
      EXPECT_NEAR(most / outcome.stages[s].memory.total_bytes(), 1, 1e-9);
    }
  }
}

TEST(DescribedStep, OneGpuHasNoCommunicators) {
  StepJson plan = single_stage(1);
  plan["stages"][0]["tensor_parallel"] = 1;
  EXPECT_DOUBLE_EQ(outcome_of(plan).stages[0].memory.framework_bytes, 560e6);
}

struct Missing {
  const char* name;
  void (*change)(StepJson& plan, StepJson& profiles);
  core::ErrorCode code;
  const char *where, *message;
};

class MissingInProfiles : public testing::TestWithParam<Missing> {};

TEST_P(MissingInProfiles, IsSaidWithThePlaceInThePlan) {
  StepJson plan = described_plan(), profiles = described_profiles();
  GetParam().change(plan, profiles);
  const auto outcome = simulated(plan, profiles);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, GetParam().code);
  EXPECT_EQ(outcome.error().where, GetParam().where);
  EXPECT_THAT(outcome.error().message, testing::HasSubstr(GetParam().message));
  EXPECT_FALSE(outcome.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Plans, MissingInProfiles,
    testing::Values(
        Missing{"model", [](StepJson& plan, StepJson&) { plan["model"] = "large"; },
                core::ErrorCode::kUnavailable, "model", "no model 'large'"},
        Missing{"device",
                [](StepJson& plan, StepJson&) { plan["stages"][1]["devices"][0] = "faster"; },
                core::ErrorCode::kUnavailable, "stages[1].devices[0]", "no device 'faster'"},
        Missing{"sizes",
                [](StepJson& plan, StepJson&) { plan["stages"][0]["tensor_parallel"] = 3; },
                core::ErrorCode::kUnavailable, "stages[0].tensor_parallel", "tensor_parallel 3"},
        Missing{"times",
                [](StepJson& plan, StepJson&) { plan["stages"][0]["tensor_parallel"] = 4; },
                core::ErrorCode::kUnavailable, "stages[0].devices[0]",
                "no times of small on fast with tensor_parallel 4"},
        Missing{"node",
                [](StepJson& plan, StepJson& profiles) {
                  plan["stages"][0]["tensor_parallel"] = 4;
                  profiles["devices"]["fast"]["gpus_per_node"] = 3;
                },
                core::ErrorCode::kInvalidInput, "stages[0].devices[0]", "a node of fast has 3"},
        Missing{"layers", [](StepJson& plan, StepJson&) { plan["stages"][1]["layers"] = {2}; },
                core::ErrorCode::kInvalidInput, "stages[1].layers", "small has 4"},
        Missing{"link",
                [](StepJson&, StepJson& profiles) {
                  profiles["links"]["inter_node"] = StepJson::array();
                },
                core::ErrorCode::kUnavailable, "stages[0]", "no link between nodes of fast"},
        Missing{"node link",
                [](StepJson&, StepJson& profiles) {
                  profiles["links"]["intra_node"] = StepJson::array();
                },
                core::ErrorCode::kUnavailable, "stages[0]", "no link within a node of fast"}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::erase(name, ' ');
      return name;
    });

}  // namespace
}  // namespace soapstone::parallel
