// See described_step.h.
#include "parallel/described/described_step.h"

#include <algorithm>
#include <limits>

#include "parallel/described/described_tasks.h"
#include "parallel/described/step_figures.h"

namespace soapstone::parallel {
namespace {

constexpr double kUsOfS = 1e6;
constexpr double kMostPartsTold = 60000;

/// Passes, and handovers on both of their stages, of so many microbatches are told one by one.
std::int64_t most_microbatches(const DescribedPlan& plan, const StepFigures& figures) {
  const auto stages = static_cast<double>(plan.stages.size());
  const double parts = (6 * stages - 4) * static_cast<double>(figures.replicas.size());
  const double filling = 4 * stages;  // Enough to see the pace of a full pipeline.
  return static_cast<std::int64_t>(std::max(filling, kMostPartsTold / parts - stages));
}

DescribedStageOutcome stage_outcome(const DescribedPlan& plan, const Profiles& profiles,
                                    const StepFigures& figures, std::size_t stage) {
  DescribedStageOutcome outcome;
  outcome.memory = described_memory(plan, figures.sizes[stage], stage);
  const auto count = static_cast<double>(plan.microbatches);
  for (const AlikeReplicas& alike : figures.replicas) {
    const StageTimes& times = alike.stages[stage];
    const double compute_s = count * (times.forward_s + times.backward_s);
    if (compute_s <= outcome.compute_s) continue;
    outcome.slowest_replica = alike.first;
    outcome.compute_s = compute_s;
    outcome.update_s = times.update_s;
    outcome.sum_s = times.buckets_s + figures.sum_s[stage];
    outcome.handover_s = count * (alike.forward_gathers_s[stage] + alike.backward_gathers_s[stage]);
    // With the stage before it and with the one behind it.
    for (const std::size_t link : {stage - 1, stage}) {
      if (link >= alike.activation_s.size()) continue;
      const double there = alike.activation_s[link], back = alike.gradient_s[link];
      outcome.handover_s +=
          count * (plan.framework.handovers == HandoverOrder::kInTurn ? there + back
                                                                      : std::max(there, back));
    }
  }
  outcome.device_bytes = std::numeric_limits<double>::infinity();
  for (const std::string& device : plan.stages[stage].devices)
    if (const double bytes = profiles.devices.at(device).memory_bytes;
        bytes < outcome.device_bytes) {
      outcome.device_bytes = bytes;
      outcome.smallest_device = device;
    }
  return outcome;
}

}  // namespace

bool DescribedOutcome::fits() const {
  return std::ranges::all_of(stages, &DescribedStageOutcome::fits);
}

double DescribedOutcome::peak_bytes() const {
  double most = 0;
  for (const DescribedStageOutcome& stage : stages)
    most = std::max(most, stage.memory.total_bytes());
  return most;
}

core::Result<DescribedOutcome> simulate_described(const DescribedPlan& plan,
                                                  const Profiles& profiles) {
  SOAPSTONE_ASSIGN_OR_RETURN(const StepFigures figures, step_figures(plan, profiles));
  DescribedPlan told = plan;
  told.microbatches = std::min(plan.microbatches, most_microbatches(plan, figures));
  DescribedOutcome outcome;
  outcome.plan = plan;
  outcome.told_microbatches = told.microbatches;
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.step, told_step(told, profiles, figures));
  outcome.iteration_s = to_us(outcome.step.timeline.end) / kUsOfS;
  if (const std::int64_t rest = plan.microbatches - told.microbatches; rest > 0) {
    const auto stages = static_cast<std::int64_t>(plan.stages.size());
    told.microbatches -= stages;
    SOAPSTONE_ASSIGN_OR_RETURN(const SimulatedStep shorter, told_step(told, profiles, figures));
    const double pace_s =
        (outcome.iteration_s - to_us(shorter.timeline.end) / kUsOfS) / static_cast<double>(stages);
    outcome.iteration_s += pace_s * static_cast<double>(rest);
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    outcome.stages.push_back(stage_outcome(plan, profiles, figures, s));
    DescribedStageOutcome& stage = outcome.stages.back();
    const double busy_s = stage.compute_s + stage.handover_s + stage.sum_s + stage.update_s;
    // Times of tasks are rounded to ticks, so what is left of a busy stage is no waiting.
    const double rounding_s = 1e-6 * outcome.iteration_s;
    stage.waiting_s = outcome.iteration_s - busy_s;
    if (stage.waiting_s < rounding_s) stage.waiting_s = 0;
    if (stage.waiting_s < outcome.stages[outcome.last_stage].waiting_s) outcome.last_stage = s;
  }
  return outcome;
}

}  // namespace soapstone::parallel
