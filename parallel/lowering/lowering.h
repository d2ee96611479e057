// From a plan to one program a rank: every operator becomes the part of it that the rank has, and
// where its inputs lie elsewhere, they are brought by messages.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/lowering/rank_mesh.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/sharding/choices.h"
#include "parallel/step/plan.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// How the operators and weights of a graph are cut, and in which stage they are.
struct PlannedCuts {
  RankMesh mesh;
  std::vector<AxisLoops> loops;             ///< By node.
  std::vector<Layout> weights;              ///< By tensor; that of others is not read.
  std::vector<std::int32_t> piece_of_node;  ///< By node, as MeshPlan has it.
};

PlannedCuts cuts_of(const MeshPlan& plan);

/// The programs of all ranks, for one forward pass over the whole batch. A rank is given the pieces
/// of inputs that it reads, and of weights those that the plan gives it. All ranks meet exchanges
/// in one order, so no run waits for ever. `loops` and `is_weight` (by tensor) are those of the
/// graph. Precondition: sizes are numbers. Errors: kUnsupported names the node whose part no graph
/// of ordinary operators computes.
core::Result<std::vector<RankProgram>> lower(const core::Graph& graph, const GraphLoops& loops,
                                             const std::vector<bool>& is_weight,
                                             const PlannedCuts& cuts);

}  // namespace soapstone::parallel
