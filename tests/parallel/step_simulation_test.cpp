// Simulated steps: schedules of pipelines, and that a step takes what its plan says.
#include "parallel/simulation/step_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "parallel/step/pipeline_schedule.h"
#include "parallel/topology/presets.h"

namespace soapstone::parallel {
namespace {

constexpr double kForwardUs = 100, kBackwardUs = 200, kUpdateUs = 30;

/// A node for each piece of each stage; all of them alike.
PlanDocument even_plan(const MeshShape& shape) {
  PlanDocument plan;
  plan.topology = "dgx-a100x2";
  plan.devices = shape.device_count();
  plan.is_training = true;
  plan.shape = shape;
  plan.cuts.emplace_back();
  NodeEstimate estimate;
  estimate.forward_us = kForwardUs;
  estimate.backward_us = kBackwardUs;
  estimate.update_us = kUpdateUs;
  estimate.weight_bytes = 4e9;
  estimate.kept_bytes = 1e9;
  plan.estimates.push_back(estimate);
  for (std::int64_t piece = 0; piece < shape.stages * shape.chunks; ++piece)
    plan.nodes.push_back({fmt::format("layer{}/node", piece), piece % shape.stages, 0, 0});
  return plan;
}

SimulatedStep simulated(const PlanDocument& plan, StepSimulationOptions options = {}) {
  auto step = simulate_step(plan, *preset_topology("dgx-a100x2"), options);
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  return *std::move(step);
}

double peak_bytes(const SimulatedStep& step, std::size_t device) {
  const auto memory = memory_over_time(step.problem, step.placement, step.timeline);
  double most = 0;
  for (const MemoryStep& held : memory[device]) most = std::max(most, held.bytes);
  return most;
}

TEST(PipelineSchedule, RunsEachPassOnceAndForwardFirst) {
  for (const std::int64_t stages : {1, 2, 3, 4})
    for (const std::int64_t chunks : {1, 2, 3})
      for (const std::int64_t microbatches : {1, 2, 3, 4, 7, 8})
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          const MeshShape shape{stages, chunks, microbatches};
          const auto runs = schedule_of_stage(shape, stage, true);
          ASSERT_EQ(runs.size(), static_cast<std::size_t>(2 * chunks * microbatches));
          for (auto backward = runs.begin(); backward != runs.end(); ++backward) {
            if (!backward->is_backward) continue;
            PieceRun forward = *backward;
            forward.is_backward = false;
            ASSERT_NE(std::find(runs.begin(), backward, forward), backward);
            ASSERT_EQ(std::find(runs.begin(), backward, *backward), backward);
          }
        }
}

TEST(PipelineSchedule, TakesTurnsOnceThePipelineIsFull) {
  const auto runs = schedule_of_stage({2, 1, 3}, 0, true);
  const std::vector<PieceRun> expected{{0, 0, false}, {0, 1, false}, {0, 0, true},
                                       {0, 2, false}, {0, 1, true},  {0, 2, true}};
  EXPECT_EQ(runs, expected);
}

TEST(StepSimulation, APipelineTakesItsClosedForm) {
  for (const std::int64_t stages : {1, 2, 4})
    for (const std::int64_t microbatches : {1, 4, 8}) {
      const SimulatedStep step = simulated(even_plan({stages, 1, microbatches, 2}));
      const double passes_us =
          static_cast<double>(microbatches + stages - 1) * (kForwardUs + kBackwardUs);
      // Handovers take a few microseconds each way and stage.
      EXPECT_NEAR(to_us(step.timeline.end), passes_us + kUpdateUs,
                  stages == 1 ? 1e-6 : 0.03 * passes_us)
          << stages << " stages, " << microbatches << " microbatches";
    }
}

TEST(StepSimulation, UpTo256StagesAreTold) {
  const Topology machine = *preset_topology("dgx-a100x64");
  PlanDocument plan = even_plan({256, 1, 4});
  plan.topology = "dgx-a100x64";
  const auto step = simulate_step(plan, machine, {});
  ASSERT_TRUE(step.ok()) << step.error().to_string();
  EXPECT_EQ(step->problem.device_count, 256U);
  const double passes_us = (4 + 255) * (kForwardUs + kBackwardUs);
  EXPECT_NEAR(to_us(step->timeline.end), passes_us + kUpdateUs, 0.03 * passes_us);
  EXPECT_EQ(step->timeline.syncs.back().devices.size(), 1U);
  plan = even_plan({512, 1, 4});
  plan.topology = "dgx-a100x64";
  const auto more = simulate_step(plan, machine, {});
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().to_string().find("512 stages are too many to be told: there may be 256"),
            std::string::npos);
}

TEST(StepSimulation, InterleavingShortensTheFilling) {
  for (const std::int64_t chunks : {2, 4}) {
    const SimulatedStep step = simulated(even_plan({4, chunks, 8}));
    const double whole_us = static_cast<double>(chunks) * (kForwardUs + kBackwardUs);
    const double filling_us = 3 * (kForwardUs + kBackwardUs);
    const double update_us = static_cast<double>(chunks) * kUpdateUs;
    EXPECT_NEAR(to_us(step.timeline.end), 8 * whole_us + filling_us + update_us,
                0.05 * 8 * whole_us);
  }
}

TEST(StepSimulation, SchedulesOfAnySizeEnd) {
  for (const std::int64_t stages : {1, 2, 4, 8})
    for (const std::int64_t chunks : {1, 2, 3})
      for (const std::int64_t microbatches : {1, 3, 5, 8, 9}) {
        if (stages == 1 && chunks > 1) continue;
        const SimulatedStep step = simulated(even_plan({stages, chunks, microbatches}));
        EXPECT_EQ(step.timeline.parts.size(), step.problem.slot_count);
      }
}

TEST(StepSimulation, EarlyStagesKeepMoreMicrobatches) {
  const SimulatedStep step = simulated(even_plan({4, 1, 8}));
  for (std::size_t stage = 0; stage < 4; ++stage)
    EXPECT_NEAR(peak_bytes(step, stage), 4e9 + (4 - static_cast<double>(stage)) * 1e9, 1)
        << "stage " << stage;
}

TEST(StepSimulation, SumsOfGradientsRunBesideTheBackwardPass) {
  PlanDocument plan = even_plan({1, 1, 1, 1, 1, 8});
  plan.nodes.push_back({"layer1/node", 0, 0, 0});
  plan.estimates[0].gradient_sum_us = 150;
  // The sum of the last layer starts 200 us before the backward pass ends; that of the first
  // afterward; then both layers are updated.
  EXPECT_NEAR(to_us(simulated(plan).timeline.end), 600 + 150 + 60, 1e-6);
  plan.estimates[0].gradient_sum_us = 250;
  EXPECT_NEAR(to_us(simulated(plan).timeline.end), 400 + 500 + 60, 1e-6);
}

TEST(StepSimulation, LanesAndDetailFollowTheirLimits) {
  const PlanDocument plan = even_plan({2, 1, 4, 4});
  EXPECT_EQ(simulated(plan).problem.device_count, 2U);
  EXPECT_EQ(simulated(plan, {2000}).problem.device_names[1], "0.4 … 0.7, 4 alike");
  EXPECT_EQ(simulated(plan).problem.operators[0].name, "layer0/node");
  EXPECT_EQ(simulated(plan, {1}).problem.operators[0].name, "stage 0");
}

TEST(StepSimulation, ManyPassesAreNotToldApartFromWhatTheyExchange) {
  PlanDocument plan = even_plan({8, 4, 512});
  plan.estimates[0].forward_exchange_us = 7;
  plan.estimates[0].backward_exchange_us = 11;
  const SimulatedStep step = simulated(plan);
  EXPECT_EQ(std::ranges::count(step.parts, StepPart::kExchange), 0);
  const double busy_us = 512 * 4 * (kForwardUs + 7 + kBackwardUs + 11);
  EXPECT_NEAR(to_us(step.timeline.busy[0]), busy_us, 1e-3);
}

TEST(StepSimulation, RefusesPlansThatContradictThemselves) {
  const Topology machine = *preset_topology("dgx-a100x2");
  PlanDocument plan = even_plan({2, 1, 4});
  plan.nodes[1].stage = 0;
  EXPECT_FALSE(simulate_step(plan, machine, {}).ok());
  EXPECT_FALSE(simulate_step(even_plan({2, 1, 1, 16}), machine, {}).ok());
  EXPECT_FALSE(simulate_step(even_plan({2, 1, 1'000'000}), machine, {}).ok());
}

}  // namespace
}  // namespace soapstone::parallel
