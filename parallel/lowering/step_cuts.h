// How a step of training is cut, after a plan that knows its forward pass alone: gradients are cut
// as the operators that they belong to, and updates as the weights lie.
#pragma once

#include <vector>

#include "parallel/lowering/planned_cuts.h"
#include "parallel/training/training_step.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// A graph that a plan cuts. `loops` and `is_weight` are those of the graph.
struct CutGraph {
  const core::Graph& graph;
  const GraphLoops& loops;
  const std::vector<bool>& is_weight;
};

/// A loop that a plan cuts along an axis, where no graph of ordinary operators computes the parts:
/// those of a softmax along its own axis would have to exchange something in between.
struct UncutLoop {
  core::NodeId node;
  std::size_t axis = 0;
};

/// Leaves such loops whole, so that all ranks along the axis compute the same. Returns them.
std::vector<UncutLoop> uncut_what_has_no_parts(const CutGraph& model, PlannedCuts& cuts);

/// Lets the microbatches of the plan cut every node that has a loop over the batch.
PlannedCuts with_microbatches(const CutGraph& model, PlannedCuts cuts, std::int64_t microbatches);

/// A step, and how it is cut.
struct CutStep {
  std::vector<bool> is_weight;  ///< By tensor: weights and states of the optimizer.
  GraphLoops loops;
  PlannedCuts cuts;
};

struct StepCutOptions {
  std::int64_t microbatches = 1;
  /// States of the optimizer are cut along axes along which their weights are not (ZeRO, stage 1).
  bool cuts_states = false;
};

/// `cuts` are those of the forward pass over the whole batch, `model` the graph that was planned;
/// nodes of the step that are the same there have their numbers.
CutStep cut_step(const TrainingStep& step, const CutGraph& model, const PlannedCuts& cuts,
                 const StepCutOptions& options);

}  // namespace soapstone::parallel
