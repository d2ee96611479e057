// The time and the memory of a step on a mesh shape: stages of the pipeline run their passes in
// turn, and what is exchanged for weights goes on beside them.
#pragma once

#include <vector>

#include "parallel/sharding/mesh.h"
#include "parallel/step/model_order.h"
#include "parallel/step/plan.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// How many times as long as the sharding says the devices of a stage take.
struct Slowness {
  double work = 1;    ///< For the passes of a microbatch.
  double update = 1;  ///< For the update of weights: it streams through the memory.
};

/// The devices of a stage and the ways between stages.
struct StepMachine {
  const Mesh& mesh;                    ///< A stage's devices.
  const std::vector<Path>& handovers;  ///< See handovers().
  std::vector<Slowness> slowness;      ///< By stage; none: 1.
};

/// Cuts the nodes into stages and fills in `piece_of_node`, `estimates` and `time` of the plan,
/// whose sharding is that of the whole graph on the devices of one stage.
void time_step(const core::Graph& graph, const StepWork& work, const ModelOrder& order,
               bool is_training, const StepMachine& machine, MeshPlan& plan);

/// How often the time of one microbatch counts in a step of a pipeline without handovers.
double microbatch_weight(const MeshShape& shape);

/// Microbatches that a stage has begun and not ended, at most. In 1F1B those of all stages behind
/// it; in pieces, as many pieces as each stage begins before its first backward pass (D. Narayanan
/// et al., 2021, section 2.2): two for each stage behind it, and all pieces but the last of a
/// round.
double microbatches_in_flight(const MeshShape& shape, std::int64_t stage);

}  // namespace soapstone::parallel
