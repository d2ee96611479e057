// The figures of a described step: how long each pass, handover, sum and update of its stages
// takes, and what a GPU of each stage holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "parallel/described/described_plan.h"
#include "parallel/described/profiles.h"
#include "parallel/described/stage_times.h"

namespace soapstone::parallel {

/// Replicas with the same devices on all stages do the same at the same time.
struct AlikeReplicas {
  std::size_t first = 0;  ///< One of them.
  std::int64_t count = 0;
  std::vector<StageTimes> stages;
  /// Seconds over the network from each stage to the next, and of gradients back.
  std::vector<double> activation_s, gradient_s;
  /// Seconds in which each stage gathers what it received, in its forward and backward passes.
  std::vector<double> forward_gathers_s, backward_gathers_s;

  double forward_s(std::size_t stage) const {
    return stages[stage].forward_s + forward_gathers_s[stage];
  }
  double backward_s(std::size_t stage) const {
    return stages[stage].backward_s + backward_gathers_s[stage];
  }
};

struct StepFigures {
  std::vector<StageSizes> sizes;  ///< By stage.
  std::vector<AlikeReplicas> replicas;
  std::vector<double> sum_s;  ///< By stage: a ring of all its replicas, from the last one on.
};

/// Errors: those of stage_times() and between_nodes_s().
core::Result<StepFigures> step_figures(const DescribedPlan& plan, const Profiles& profiles);

}  // namespace soapstone::parallel
