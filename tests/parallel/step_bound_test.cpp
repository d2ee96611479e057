// The bound of all plans: where one device does everything it is the step itself.
#include <gtest/gtest.h>

#include "parallel/planning/mesh_planner.h"
#include "parallel/planning/named.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {
namespace {

struct Bounded {
  std::string network;
  models::ParameterValues sizes;
};

MeshPlanOutcome outcome_on(const PlannedNetwork& net, const std::string& machine,
                           MeshPlanOptions options) {
  const core::StopToken never;
  auto outcome =
      plan_on_meshes(net.graph, net.is_weight, topology(machine), options, core::silent(), never);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return *std::move(outcome);
}

TEST(StepBound, IsTheStepOnOneDevice) {
  for (const Bounded& each : {Bounded{"resnet50", {{"batch", 8}}},
                              Bounded{"gpt", {{"batch", 4}, {"layers", 2}, {"seq", 64}}},
                              Bounded{"rnnlm", {{"batch", 16}, {"steps", 3}}}}) {
    const PlannedNetwork net = network(each.network, each.sizes);
    for (const bool is_training : {false, true}) {
      MeshPlanOptions options;
      options.devices = 1;
      options.is_training = is_training;
      const MeshPlanOutcome outcome = outcome_on(net, "dgx-a100x1", options);
      const StepBound& bound = outcome.lower_bound;
      EXPECT_NEAR(bound.us, outcome.plan.time.total_us, 1e-6 * bound.us)
          << each.network << (is_training ? ", training" : "");
      EXPECT_NEAR(bound.us, bound.launches_us + bound.arithmetic_us + bound.traffic_us,
                  1e-9 * bound.us);
    }
  }
}

TEST(StepBound, SaysWhatBinds) {
  MeshPlanOptions options;
  const auto binds = [&](const std::string& name, const models::ParameterValues& sizes) {
    return outcome_on(network(name, sizes), "dgx-a100x1", options).lower_bound.binding();
  };
  EXPECT_EQ(binds("rnnlm", {{"batch", 8}, {"steps", 8}}), "launches");
  EXPECT_EQ(binds("mlp", {{"batch", 65536}}), "arithmetic");
  options.precision = core::DataType::kFloat16;
  EXPECT_EQ(binds("squeezenet", {{"batch", 4096}}), "traffic");
}

/// Each machine has devices of two kinds, or stages; wherever the plan ends up it is above.
TEST(StepBound, LiesBelowPlansOfAnyShape) {
  const PlannedNetwork net = network("gpt", {{"batch", 32}, {"layers", 2}, {"seq", 64}});
  for (const char* machine : {"v100-p100", "tpu-v2v3", "dgx-a100x2"})
    for (const std::int64_t stages : {1, 2}) {
      MeshPlanOptions options;
      options.is_training = true;
      options.sizes.stages = stages;
      options.sizes.microbatches = 2 * stages;
      const MeshPlanOutcome outcome = outcome_on(net, machine, options);
      EXPECT_LE(outcome.lower_bound.us, outcome.plan.time.total_us)
          << machine << ", " << stages << " stages";
      EXPECT_GT(outcome.lower_bound.us, 0) << machine;
    }
}

}  // namespace
}  // namespace soapstone::parallel
