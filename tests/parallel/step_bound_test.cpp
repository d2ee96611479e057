// The bound of all plans: where one device does everything it is the step itself.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "parallel/planning/exchange_bound.h"
#include "parallel/planning/mesh_planner.h"
#include "parallel/planning/named.h"
#include "parallel/planning/shape_bound.h"
#include "parallel/step/pipeline_run.h"
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

Bounded random_network(std::mt19937& random) {
  const auto draw = [&](std::vector<std::int64_t> from) { return from[random() % from.size()]; };
  const std::int64_t batch = draw({8, 12, 16, 32, 64});
  switch (random() % 4) {
  case 0:
    return {"mlp",
            {{"batch", batch},
             {"layers", draw({2, 4})},
             {"hidden", draw({64, 1024, 8192})},
             {"inputs", draw({64, 1024})},
             {"outputs", draw({8, 1000})}}};
  case 1:
    return {"gpt",
            {{"batch", batch},
             {"layers", draw({1, 2})},
             {"hidden", draw({64, 256})},
             {"heads", 4},
             {"seq", 64},
             {"positions", 64},
             {"vocabulary", draw({100, 5000})}}};
  case 2:
    return {"lenet", {{"batch", batch}}};
  default:
    return {"dlrm", {{"batch", batch}, {"tables", draw({2, 6})}, {"rows", draw({100, 10000})}}};
  }
}

/// However the bound was found, and whatever the strategy may do.
TEST(StepBound, LiesBelowThePlansOfAllStrategies) {
  const std::vector<std::string> machines = {"dgx-a100x1", "p100x4-nvlink", "v100-p100",
                                             "k80x4-ib"};
  const core::StopToken never;
  constexpr int kCases = 12;
  int compared = 0;
  for (int seed = 0; seed < kCases; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const Bounded drawn = random_network(random);
    const PlannedNetwork net = network(drawn.network, drawn.sizes);
    const Topology machine = topology(machines[random() % machines.size()]);
    MeshPlanOptions options;
    options.is_training = random() % 4 > 0;
    if (random() % 2 == 0) options.devices = std::int64_t{2} << random() % 2;
    const MeshEvaluator evaluator(net.graph, net.is_weight, machine, options);
    ExchangeBoundOptions bound;
    bound.most_shardings = 200;
    const double least_us = least_step_us(evaluator, bound, never);
    for (const NamedStrategy& strategy : named_strategies()) {
      FixedSizes sizes;
      if (random() % 3 == 0) sizes.stages = std::int64_t{1} << random() % 3;
      if (random() % 3 == 0) sizes.microbatches = std::int64_t{1} << random() % 4;
      const auto freedom = freedom_on(machine, evaluator.devices(), strategy.freedom, sizes);
      if (!freedom || freedom->bisects) continue;
      const auto planned =
          plan_on_meshes(evaluator, *freedom, kImpossible, 1, core::silent(), never);
      if (!planned) continue;
      ++compared;
      EXPECT_LE(least_us, planned->plan.time.total_us)
          << "seed " << seed << ", " << strategy.name << " of " << drawn.network << " on "
          << machine.name() << ", " << evaluator.devices() << " devices";
    }
  }
  EXPECT_GT(compared, 60);
}

/// Weights are large, and there is little to compute: their gradients are summed within a short
/// backward pass, or what lies between layers is exchanged.
TEST(StepBound, CountsWhatMustBeExchanged) {
  const PlannedNetwork net = network(
      "mlp", {{"batch", 64}, {"layers", 4}, {"hidden", 8192}, {"inputs", 8192}, {"outputs", 8192}});
  MeshPlanOptions options;
  options.is_training = true;
  const MeshPlanOutcome outcome = outcome_on(net, "k80x4-ib", options);
  const StepBound& bound = outcome.lower_bound;
  EXPECT_EQ(bound.binding(), "exchanges");
  EXPECT_NEAR(bound.us,
              bound.launches_us + bound.arithmetic_us + bound.traffic_us + bound.exchanges_us,
              1e-9 * bound.us);
  EXPECT_GT(bound.us, 0.85 * outcome.plan.time.total_us);
  EXPECT_LE(bound.us, outcome.plan.time.total_us);
}

/// Whatever the pieces of stages take, which are drawn so that some take next to nothing.
TEST(StepBound, PipelinesEndNoEarlierThanTheInequalitiesSay) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw(-3, 2);
  for (int k = 0; k < 3000; ++k) {
    MeshShape shape;
    shape.stages = 1 + static_cast<std::int64_t>(random() % 5);
    shape.chunks = shape.stages == 1 ? 1 : 1 + static_cast<std::int64_t>(random() % 3);
    shape.microbatches = 1 + static_cast<std::int64_t>(random() % 7);
    if (shape.chunks > 1) shape.microbatches *= shape.stages;
    const bool is_training = random() % 3 > 0;
    StageShares shares;
    shares.slowest = shares.updates = 1 / static_cast<double>(shape.stages);
    std::vector<Path> handovers(static_cast<std::size_t>(shape.stages), Path{0.3, 1e9});
    const std::int64_t pieces = shape.stages * shape.chunks;
    shares.handovers_us = 0.3 * static_cast<double>(pieces - 1);
    StepParts parts;
    parts.passes.resize(1);
    std::vector<PieceTimes> times;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      times.push_back(
          {std::pow(10, draw(random)), is_training ? std::pow(10, draw(random)) : 0, 0});
      parts.passes.front().forward_us += times.back().forward_us;
      parts.passes.front().backward_us += times.back().backward_us;
    }
    const double end_us = run_pipeline(shape, is_training, times, handovers).end_us;
    for (const StepInequality& each : step_inequalities(shape, shares, is_training))
      ASSERT_LE(each.us + sum_of(each.weights, parts), end_us * (1 + 1e-9))
          << shape.stages << " stages, " << shape.chunks << " chunks, " << shape.microbatches
          << " microbatches, case " << k;
  }
}

TEST(StepBound, IsTheSameOnAnyNumberOfThreads) {
  const PlannedNetwork net = network("dlrm", {{"batch", 256}, {"tables", 6}});
  MeshPlanOptions options;
  options.is_training = true;
  const double us = outcome_on(net, "dgx-a100x2", options).lower_bound.us;
  options.threads = 3;
  EXPECT_EQ(outcome_on(net, "dgx-a100x2", options).lower_bound.us, us);
}

}  // namespace
}  // namespace soapstone::parallel
