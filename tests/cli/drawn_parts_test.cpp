// Runs that are told as one take what they took apart.
#include "cli/plan/drawn_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "parallel/topology/presets.h"

namespace soapstone::cli {
namespace {

using parallel::StepPart;
using parallel::Ticks;

/// Two stages with two blocks of three nodes each, which compute and exchange; three microbatches.
parallel::SimulatedStep step_of_blocks() {
  parallel::PlanDocument plan;
  plan.devices = 2;
  plan.is_training = true;
  plan.shape.stages = 2;
  plan.shape.microbatches = 3;
  plan.time.total_us = 4000;
  plan.cuts.emplace_back();
  parallel::NodeEstimate estimate;
  estimate.forward_us = 100;
  estimate.forward_exchange_us = 7;
  estimate.backward_us = 200;
  estimate.backward_exchange_us = 11;
  estimate.update_us = 30;
  estimate.handover_bytes = 1e6;
  plan.estimates.push_back(estimate);
  for (int node = 0; node < 12; ++node)
    plan.nodes.push_back({fmt::format("layer{}/node{}", node / 3, node), node / 6, 0, 0});
  auto step = parallel::simulate_step(plan, *parallel::preset_topology("dgx-a100x1"), {});
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  return *std::move(step);
}

std::map<std::pair<std::size_t, StepPart>, Ticks> time_of(const std::vector<DrawnPart>& parts) {
  std::map<std::pair<std::size_t, StepPart>, Ticks> times;
  for (const DrawnPart& part : parts) times[{part.device, part.does}] += part.end - part.start;
  return times;
}

TEST(DrawnParts, AreBlocksOrPassesWhereThereAreTooMany) {
  const parallel::SimulatedStep step = step_of_blocks();
  const auto runs = drawn_parts(step, 1000), blocks = drawn_parts(step, 100),
             passes = drawn_parts(step, 1);
  EXPECT_EQ(runs.size(), step.timeline.parts.size());
  // Of each stage: 3 microbatches, 2 blocks, forward and backward, each with an exchange; updates.
  EXPECT_EQ(blocks.size(), 2U * (3 * 2 * 4 + 1));
  EXPECT_EQ(passes.size(), 2U * (3 * 4 + 1));
  const auto is_named = [](const char* name) {
    return [name](const DrawnPart& part) { return part.name == name; };
  };
  EXPECT_EQ(std::ranges::count_if(runs, is_named("layer1/node4")), 3 * 4);
  EXPECT_EQ(std::ranges::count_if(blocks, is_named("layer1")), 3 * 4);
  EXPECT_EQ(std::ranges::count_if(passes, is_named("backward pass")), 2 * 3 * 2);
}

TEST(DrawnParts, TakeWhatTheirRunsTake) {
  const parallel::SimulatedStep step = step_of_blocks();
  const auto runs = drawn_parts(step, 1000);
  for (const std::size_t most : {100U, 1U}) {
    const auto parts = drawn_parts(step, most);
    EXPECT_EQ(time_of(parts), time_of(runs));
    EXPECT_EQ(std::ranges::max(parts, {}, &DrawnPart::end).end, step.timeline.computed);
    for (std::size_t k = 1; k < parts.size(); ++k)
      if (parts[k].device == parts[k - 1].device) {
        EXPECT_GE(parts[k].start, parts[k - 1].end);
      }
    EXPECT_TRUE(std::ranges::any_of(parts, &DrawnPart::is_critical));
    EXPECT_FALSE(std::ranges::all_of(parts, &DrawnPart::is_critical));
  }
}

}  // namespace
}  // namespace soapstone::cli
