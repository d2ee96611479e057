// How a plan cuts a graph: what lowering knows of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "parallel/pieces/rank_mesh.h"
#include "parallel/sharding/choices.h"
#include "parallel/step/plan.h"

namespace soapstone::parallel {

/// A pass through a piece of the model, or what comes behind all of them, once a step.
enum class Direction : std::uint8_t { kForward, kBackward, kBehind };

/// How the operators and weights of a graph are cut, and in which pass they run.
struct PlannedCuts {
  RankMesh mesh;
  std::int64_t chunks = 1;        ///< Pieces of each stage.
  std::int64_t microbatches = 1;  ///< Each is a part of the batch that the graph is of.
  /// The loops of each node. With several microbatches the axis behind those of the mesh is theirs.
  std::vector<AxisLoops> loops = {};
  std::vector<Layout> weights = {};              ///< By tensor; that of others is not read.
  std::vector<std::int32_t> piece_of_node = {};  ///< By node, as MeshPlan has it.
  std::vector<Direction> directions = {};        ///< By node; empty: all are kForward.
  bool is_training = false;                      ///< There are backward passes.
  bool gathers_once = false;                     ///< As MeshShape has it.
  /// Results that the next step reads in place of an input, which is a weight: a rank gets the
  /// pieces of them that it is given of the input.
  std::map<core::TensorId, core::TensorId> replaced = {};
};

/// The cuts of a forward pass over the whole batch, whatever the microbatches of the plan.
PlannedCuts cuts_of(const MeshPlan& plan);

}  // namespace soapstone::parallel
