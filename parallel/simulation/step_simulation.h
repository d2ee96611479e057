// A step of a plan, simulated: which stage computes, exchanges and waits when, and how much memory
// it holds. The devices of a stage do the same at the same time, so one stands for all of them.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "parallel/plans/plan_document.h"
#include "parallel/simulation/timeline.h"

namespace soapstone::parallel {

/// What a part of a step does.
enum class StepPart : std::uint8_t {
  kForward,
  kAgain,  ///< The forward pass once more, for gradients.
  kBackward,
  kExchange,  ///< Changes of layout, and weights that are gathered.
  kUpdate,    ///< Of the weights.
};

/// `forward`, `forward again`, …
std::string_view to_string(StepPart part);

struct SimulatedStep {
  PlacementProblem problem;
  Placement placement;
  Timeline timeline;
  std::vector<StepPart> parts;              ///< What each operator of the problem does.
  std::vector<std::int64_t> microbatch_of;  ///< Of each operator; −1: of none.
  std::vector<bool> is_backward;            ///< Of each operator: the pass that it is part of.
  double plan_us = 0;                       ///< What the plan itself says that a step takes.
};

struct StepSimulationOptions {
  /// Nodes are told one by one as long as there are no more parts than this; else those of a block
  /// (whose names begin alike up to the first '/') are one, or all of a stage.
  std::size_t most_parts = 20'000;
};

/// Errors: kInvalidInput if the plan contradicts itself or the topology; kUnsupported if it has too
/// many stages or microbatches to be told.
core::Result<SimulatedStep> simulate_step(const PlanDocument& plan, const Topology& topology,
                                          const StepSimulationOptions& options);

}  // namespace soapstone::parallel
