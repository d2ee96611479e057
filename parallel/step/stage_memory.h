// The memory that a model needs beside its weights while its nodes run in order, on one device of
// the stage that runs them.
#pragma once

#include <vector>

#include "parallel/step/model_order.h"
#include "parallel/step/plan.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

/// Bytes by position in the order of nodes, of one microbatch.
struct OrderedMemory {
  std::vector<double> crossing;  ///< From each node and those before it to later ones.
  /// While a node runs: what it reads and makes, and what later ones wait for, without what is kept
  /// for gradients. In its backward pass the same of gradients, and what its block computes again.
  std::vector<double> forward, backward;
  std::vector<double> kept;      ///< By each node for gradients.
  std::vector<double> resident;  ///< By each node, all the time: in inference, inputs and results.
};

/// Uses the plan's shape and sharding.
OrderedMemory ordered_memory(const core::Graph& graph, const StepWork& work, bool is_training,
                             const ModelOrder& order, const MeshPlan& plan);

/// The most that nodes `begin` to `end` hold for a microbatch beyond what it keeps for gradients at
/// the end of its forward pass.
double working_bytes(const OrderedMemory& memory, bool is_training, std::size_t begin,
                     std::size_t end);

}  // namespace soapstone::parallel
