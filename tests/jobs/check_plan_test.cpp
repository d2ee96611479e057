// Plans of models that are too large to be computed are checked layer by layer, at small sizes.
#include "jobs/run/check_plan.h"

#include <gtest/gtest.h>

#include "jobs/plan/plan.h"
#include "jobs/run/resized_plan.h"
#include "models/networks/builders.h"

namespace soapstone::jobs {
namespace {

struct Checked {
  PlanOutcome outcome;
  PlanCheck check;
};

Checked checked(const PlanRequest& request) {
  auto outcome = plan(request, {});
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  const auto check = check_plan({outcome->graph, outcome->is_weight, outcome->header},
                                request.model, outcome->plan, {});
  EXPECT_TRUE(check.ok()) << check.error().to_string();
  return {*std::move(outcome), check.value()};
}

PlanRequest request_of(std::string model, std::map<std::string, std::int64_t> set,
                       std::int64_t batch, bool is_training) {
  PlanRequest request;
  request.model.model = std::move(model);
  request.model.set = std::move(set);
  request.model.batch = batch;
  request.topology = "dgx-a100x2";
  request.is_training = is_training;
  request.jobs = 1;
  return request;
}

TEST(CheckPlan, ComputesTrainingOfADeepModelAtSmallSizes) {
  PlanRequest request =
      request_of("gpt", {{"layers", 10}, {"hidden", 512}, {"heads", 8}}, 64, true);
  request.fix = {{"stages", 2}, {"chunks", 1}, {"model", 2}, {"any", 2}, {"microbatches", 8}};
  request.recompute = parallel::Recompute::kAll;
  const PlanCheck check = checked(request).check;
  EXPECT_TRUE(check.is_computed) << check.why_not_computed;
  EXPECT_NE(check.small_sizes.find("hidden="), std::string::npos) << check.small_sizes;
  EXPECT_TRUE(check.is_smaller);
  EXPECT_GE(check.left_out, 3u * 20) << "of five layers of each stage";
}

TEST(CheckPlan, ComputesInferenceAtSmallSizes) {
  const PlanCheck check = checked(request_of("gpt", {{"layers", 12}}, 32, false)).check;
  EXPECT_TRUE(check.is_computed) << check.why_not_computed;
  EXPECT_FALSE(check.small_sizes.empty());
}

TEST(CheckPlan, ComputesASmallModelAtItsOwnSizes) {
  const PlanCheck check =
      checked(request_of("mlp", {{"hidden", 32}, {"inputs", 32}}, 32, true)).check;
  EXPECT_TRUE(check.is_computed) << check.why_not_computed;
  EXPECT_TRUE(check.small_sizes.empty());
}

/// GPT on 16 devices, four of which cut each layer.
class ResizedPlan : public testing::Test {
 protected:
  static models::BuiltNetwork built(std::map<std::string, std::int64_t> sizes) {
    sizes.emplace("layers", 2);
    models::NetworkOptions options;
    options.weights = models::Weights::kInputs;
    return models::build_network("gpt", sizes, options).value();
  }
  static std::vector<bool> marked(const models::BuiltNetwork& network) {
    std::vector<bool> is_weight(network.graph.tensor_bound());
    for (const core::TensorId id : network.weights) is_weight[id.index()] = true;
    return is_weight;
  }
  /// The plan of GPT of these sizes, with digits of attention heads in its weights.
  static std::optional<parallel::PlanDocument> resized(std::map<std::string, std::int64_t> sizes,
                                                       const SizeLimits& limits = {}) {
    static const PlanRequest request = [] {
      PlanRequest made = request_of("gpt", {{"layers", 2}}, 32, false);
      made.fix = {{"model", 4}};
      made.strategy = "megatron";
      return made;
    }();
    static const PlanOutcome whole = plan(request, {}).value();
    const PlanResizer resizer(whole.graph, whole.is_weight, whole.plan);
    const models::BuiltNetwork network = built(std::move(sizes));
    auto resized = resizer.plan_of(network.graph, marked(network), limits);
    if (resized) {
      EXPECT_TRUE(parallel::check_belongs(*resized, network.graph, marked(network)).ok());
    }
    return resized;
  }
};

TEST_F(ResizedPlan, IsThatOfTheSameModel) {
  const auto plan =
      resized({{"batch", 16}, {"seq", 4}, {"positions", 8}, {"hidden", 32}, {"heads", 4}});
  ASSERT_TRUE(plan);
}

TEST_F(ResizedPlan, IsNoneWhereALoopIsTooShortOrNotDivided) {
  EXPECT_FALSE(
      resized({{"batch", 16}, {"seq", 4}, {"positions", 8}, {"hidden", 32}, {"heads", 2}}));
  EXPECT_FALSE(resized({{"batch", 3}, {"seq", 4}, {"positions", 8}, {"hidden", 32}, {"heads", 4}}));
}

TEST_F(ResizedPlan, IsNoneOfAnotherModel) {
  EXPECT_FALSE(resized(
      {{"batch", 16}, {"seq", 4}, {"positions", 8}, {"hidden", 32}, {"heads", 4}, {"layers", 3}}));
  EXPECT_FALSE(resized({{"batch", 16}, {"seq", 1}, {"positions", 8}, {"hidden", 32}, {"heads", 4}}))
      << "a size of 1 is spread";
}

TEST_F(ResizedPlan, KeepsWithinLimits) {
  SizeLimits limits;
  EXPECT_TRUE(limits.ask_for({{32, 16}}));
  EXPECT_FALSE(limits.ask_for({{32, 8}}));
  const std::map<std::string, std::int64_t> sizes = {
      {"seq", 4}, {"positions", 8}, {"hidden", 32}, {"heads", 4}};
  auto small = sizes, large = sizes;
  small["batch"] = 8;
  large["batch"] = 16;
  EXPECT_TRUE(resized(small));
  EXPECT_FALSE(resized(small, limits));
  EXPECT_TRUE(resized(large, limits));
  limits.are_distinct = true;
  EXPECT_FALSE(resized(large, limits)) << "seq and heads are both 4";
}

}  // namespace
}  // namespace soapstone::jobs
