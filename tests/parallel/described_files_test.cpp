// What is read of described plans and profiles, what is refused, and the rates of fitted links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "parallel/described/described_plan.h"
#include "parallel/described/link_times.h"
#include "parallel/described/profiles.h"
#include "tests/parallel/described_profiles.h"

namespace soapstone::parallel {
namespace {

using testing::HasSubstr;
using DocumentJson = nlohmann::ordered_json;

struct Broken {
  const char* name;
  void (*change)(DocumentJson& document);
  const char *where, *message;
};
std::string broken_case(const testing::TestParamInfo<Broken>& info) { return info.param.name; }

class BrokenPlan : public testing::TestWithParam<Broken> {};

TEST_P(BrokenPlan, IsRefusedWithThePlace) {
  DocumentJson document = described_plan();
  ASSERT_TRUE(described_plans_from_json(document.dump()).ok());
  GetParam().change(document);
  const auto plans = described_plans_from_json(document.dump());
  ASSERT_FALSE(plans.ok());
  EXPECT_EQ(plans.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(plans.error().where, GetParam().where);
  EXPECT_THAT(plans.error().to_string(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Plans, BrokenPlan,
    testing::Values(
        Broken{"no_id", [](DocumentJson& plan) { plan.erase("id"); }, "the document",
               "'id' is missing"},
        Broken{"no_stage", [](DocumentJson& plan) { plan["stages"] = DocumentJson::array(); },
               "stages", "at least one stage"},
        Broken{"no_layer",
               [](DocumentJson& plan) { plan["stages"][1]["layers"] = DocumentJson::array(); },
               "stages[1].layers", "at least one layer"},
        Broken{"missing_layer", [](DocumentJson& plan) { plan["stages"][1]["layers"] = {3}; },
               "stages[1].layers[0]", "layer 2 is missing"},
        Broken{"layer_twice",
               [](DocumentJson& plan) {
                 plan["stages"][1]["layers"] = {1, 2, 3};
               },
               "stages[1].layers[0]", "layer 1 is there twice"},
        Broken{"negative_layer", [](DocumentJson& plan) { plan["stages"][0]["layers"][0] = -1; },
               "stages[0].layers[0]", "-1 is not between"},
        Broken{"devices", [](DocumentJson& plan) { plan["stages"][0]["data_parallel"] = 2; },
               "stages[0].devices", "1 devices are not one for each of 2 replicas"},
        Broken{"degree", [](DocumentJson& plan) { plan["stages"][0]["tensor_parallel"] = 0; },
               "stages[0].tensor_parallel", "0 is not between"},
        Broken{"batch",
               [](DocumentJson& plan) {
                 plan["microbatch"] = 3;
                 plan.erase("microbatches");
               },
               "global_batch", "no whole number of microbatches"},
        Broken{"microbatches", [](DocumentJson& plan) { plan["microbatches"] = 3; }, "microbatches",
               "are not the global batch of 4"},
        Broken{"stage_key", [](DocumentJson& plan) { plan["stages"][0]["layer"] = 1; }, "stages[0]",
               "did you mean 'layers'?"},
        Broken{"framework_key", [](DocumentJson& plan) { plan["framework"]["contextmb"] = 1; },
               "framework", "did you mean 'context_mb'?"},
        Broken{"framework", [](DocumentJson& plan) { plan["framwork"] = 1; }, "the document",
               "did you mean 'framework'?"},
        Broken{"handovers", [](DocumentJson& plan) { plan["framework"]["handovers"] = "none"; },
               "framework.handovers", "neither in_turn nor both_ways"},
        Broken{"no_object", [](DocumentJson& plan) { plan = 7; }, "the document", "7 is no object"},
        Broken{"in_a_list",
               [](DocumentJson& plan) {
                 plan = DocumentJson::array({plan, plan});
               },
               "[1].id", "'two stages' is there twice"}),
    broken_case);

TEST(DescribedPlans, HaveOtherKeysBesideTheirOwn) {
  DocumentJson plan = described_plan();
  plan["measured"] = {{"iteration_s", 1}};
  DocumentJson other = plan;
  other["id"] = "another";
  const auto plans = described_plans_from_json(DocumentJson::array({plan, other}).dump());
  ASSERT_TRUE(plans.ok()) << plans.error().to_string();
  EXPECT_EQ(plans->size(), 2U);
  EXPECT_EQ(plans->back().id, "another");
}

TEST(DescribedPlans, HaveAsManyReplicasOnEachStage) {
  DocumentJson plan = described_plan();
  plan["stages"][1]["devices"] = {"fast", "fast"};
  plan["stages"][1]["data_parallel"] = 2;
  const auto plans = described_plans_from_json(plan.dump());
  ASSERT_FALSE(plans.ok());
  EXPECT_EQ(plans.error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(plans.error().where, "stages[1].data_parallel");
}

class BrokenProfiles : public testing::TestWithParam<Broken> {};

TEST_P(BrokenProfiles, AreRefusedWithThePlace) {
  DocumentJson document = described_profiles();
  GetParam().change(document);
  const auto profiles = profiles_from_json(document.dump());
  ASSERT_FALSE(profiles.ok());
  EXPECT_EQ(profiles.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(profiles.error().where, GetParam().where);
  EXPECT_THAT(profiles.error().to_string(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Profiles, BrokenProfiles,
    testing::Values(
        Broken{"no_links", [](DocumentJson& json) { json.erase("links"); }, "the document",
               "'links' is missing"},
        Broken{"layers", [](DocumentJson& json) { json["models"]["small"]["layers"] = 5; },
               "models.small.per_gpu_by_tensor_parallel.1.parameters",
               "4 figures are not one for each of 5 layers"},
        Broken{"degree",
               [](DocumentJson& json) {
                 json["models"]["small"]["per_gpu_by_tensor_parallel"]["two"] = 1;
               },
               "models.small.per_gpu_by_tensor_parallel.two", "'two' is no degree"},
        Broken{"memory", [](DocumentJson& json) { json["devices"]["slow"]["memory_mb"] = 0; },
               "devices.slow.memory_mb", "not positive"},
        Broken{"link_of_what",
               [](DocumentJson& json) { json["links"]["inter_node"][0]["to"] = "faster"; },
               "links.inter_node[0].to", "'faster' is none of the devices"},
        Broken{"link_twice",
               [](DocumentJson& json) {
                 json["links"]["inter_node"].push_back(json["links"]["inter_node"][0]);
               },
               "links.inter_node[4]", "a link of 2 pairs before it"},
        Broken{"fit",
               [](DocumentJson& json) {
                 json["links"]["inter_node"][1]["fit"] = {1, 2};
               },
               "links.inter_node[1].fit", "three numbers"},
        Broken{"model_of_times", [](DocumentJson& json) { json["profiles"]["large"] = 1; },
               "profiles.large", "none of the models"},
        Broken{"device_of_times",
               [](DocumentJson& json) { json["profiles"]["small"]["faster"] = 1; },
               "profiles.small.faster", "none of the devices"},
        Broken{
            "negative_time",
            [](DocumentJson& json) { json["profiles"]["small"]["fast"][1]["backward_s"][2] = -1; },
            "profiles.small.fast[1].backward_s[2]", "-1 is negative"},
        Broken{"times_twice",
               [](DocumentJson& json) {
                 json["profiles"]["small"]["fast"].push_back(json["profiles"]["small"]["fast"][0]);
               },
               "profiles.small.fast[4]", "before it"}),
    broken_case);

/// Profiles with one link between nodes of `fast` for each number of pairs.
Profiles linked(const std::vector<std::pair<int, std::vector<double>>>& fits) {
  DocumentJson json = described_profiles();
  json["links"]["inter_node"] = DocumentJson::array();
  for (const auto& [pairs, fit] : fits)
    json["links"]["inter_node"].push_back(
        {{"from", "fast"}, {"to", "slow"}, {"pairs", pairs}, {"fit", fit}, {"max_gb_per_s", 100}});
  return *profiles_from_json(json.dump());
}

double sent_s(const Profiles& profiles, std::int64_t pairs, double bytes) {
  const auto seconds = between_nodes_s(profiles, "fast", "slow", pairs, bytes);
  EXPECT_TRUE(seconds.ok()) << seconds.error().to_string();
  return *seconds;
}

TEST(LinkTimes, FollowTheFit) {
  const Profiles profiles = linked({{1, {0.5, 2, 10}}});
  EXPECT_NEAR(sent_s(profiles, 1, 1e6), 1e6 / 10e9, 1e-8);
  EXPECT_NEAR(sent_s(profiles, 1, 16e6), 16e6 / 26e9, 1e-7);  // l = 4
  EXPECT_EQ(sent_s(profiles, 1, 0), 0);
  EXPECT_NEAR(sent_s(linked({{1, {0, 0, 500}}}), 1, 1e8), 1e8 / 100e9,
              1e-15);  // No more than most.
}

TEST(LinkTimes, AreTheSameInTheDirectionThatIsNotThere) {
  const Profiles profiles = linked({{1, {0, 0, 10}}});
  const auto back = between_nodes_s(profiles, "slow", "fast", 1, 1e6);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, sent_s(profiles, 1, 1e6));
}

// A row that says 0.1 GB/s for 8 pairs contradicts one that says 3 GB/s for 4 of them.
TEST(LinkTimes, OfMorePairsAreNoSlowerThanOfSomeOfThem) {
  const Profiles profiles = linked({{1, {0, 0, 0.1}}, {4, {0, 0, 3}}, {8, {0, 0, 0.1}}});
  EXPECT_NEAR(sent_s(profiles, 8, 1e6), 8 * 1e6 / 3e9, 1e-12);
  EXPECT_NEAR(sent_s(profiles, 4, 1e6), 4 * 1e6 / 3e9, 1e-12);
  EXPECT_NEAR(sent_s(profiles, 1, 1e6), 1e6 / 0.75e9, 1e-12);  // As fast as beside three others.
  EXPECT_NEAR(sent_s(profiles, 2, 1e6), 2 * 1e6 / 1.5e9, 1e-12);
}

TEST(LinkTimes, GrowWithTheMessageEvenWhereAFitFallsBelowZero) {
  const Profiles profiles = linked({{1, {-0.17, 2.8, 5}}});
  double before = 0;
  for (double bytes = 1000; bytes < 4e9; bytes *= 1.3) {
    const double seconds = sent_s(profiles, 1, bytes);
    EXPECT_TRUE(std::isfinite(seconds));
    EXPECT_GE(seconds, before * (1 - 1e-12)) << bytes;
    before = seconds;
  }
}

TEST(LinkTimes, OfAFitThatIsNowherePositiveAreRefused) {
  const auto seconds = between_nodes_s(linked({{1, {0, 0, -1}}}), "fast", "slow", 1, 1e6);
  ASSERT_FALSE(seconds.ok());
  EXPECT_THAT(seconds.error().message, HasSubstr("no positive rate"));
}

TEST(LinkTimes, InANodeAreThoseOfTheNextLargerNumberOfGpus) {
  const Profiles profiles = *profiles_from_json(described_profiles().dump());
  for (const std::int64_t gpus : {2, 3, 4}) {
    const auto seconds = gathered_in_node_s(profiles, "slow", gpus, 12e6);
    ASSERT_TRUE(seconds.ok());
    const double part = 12e6 / static_cast<double>(gpus) / 10e9;
    EXPECT_NEAR(*seconds, static_cast<double>(gpus - 1) * part, 1e-12);
  }
  EXPECT_EQ(*gathered_in_node_s(profiles, "fast", 1, 12e6), 0);
}

}  // namespace
}  // namespace soapstone::parallel
