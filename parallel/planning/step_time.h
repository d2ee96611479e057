// The time of a step on a mesh shape: stages of the pipeline, bubbles, sums of gradients.
#pragma once

#include <span>

#include "parallel/planning/plan.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// Cuts the nodes into stages and fills in `stage_of_node` and `time` of the plan, whose sharding
/// is that of the whole graph on the devices of one stage. Work takes `slowness[s]` times as long
/// on stage s as the sharding says; none: 1.
void time_step(const core::Graph& graph, const StepWork& work, const Topology& topology,
               bool is_training, std::span<const double> slowness, MeshPlan& plan);

/// How often the time of one microbatch counts in a step of a pipeline without handovers.
double microbatch_weight(const MeshShape& shape);

}  // namespace soapstone::parallel
