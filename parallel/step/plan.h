// What planning has to say: on which mesh each stage of a model runs, how every node is cut there,
// and how long a step takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parallel/sharding/sharding.h"
#include "parallel/training/recompute.h"

namespace soapstone::parallel {

/// Shape of the machine as a plan uses it.
struct MeshShape {
  std::int64_t stages = 1;        ///< In the pipeline.
  std::int64_t chunks = 1;        ///< Pieces of each stage (interleaved schedule).
  std::int64_t microbatches = 1;  ///< In a step.
  /// Within a stage, innermost first: for the model, for anything, for the batch.
  std::int64_t model = 1, any = 1, batch = 1;
  Recompute recompute = Recompute::kNothing;
  std::int64_t loss_chunks = 1;  ///< In which logits and loss are computed, forward and backward.
  bool gathers_once = false;     ///< Weights that are cut: what is gathered forward is kept.
  /// Nothing is exchanged for weights beside passes: gradients are summed when all have ended.
  bool sums_behind = false;
  /// Along the outermost axis, faster devices get more of what is cut.
  bool is_uneven = false;
  std::int64_t device_count() const { return stages * model * any * batch; }
  bool computes_all_again() const { return recompute == Recompute::kAll; }
  auto operator<=>(const MeshShape&) const = default;
};

/// Bytes on the fullest device at the fullest moment of a step.
struct StepMemory {
  double weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  double kept_bytes = 0;     ///< For gradients, of all microbatches that are under way.
  double working_bytes = 0;  ///< What nodes read, make and leave meanwhile.
  double buffer_bytes = 0;   ///< Buckets of gradients, gathered weights.
  double total_bytes() const {
    return weight_bytes + gradient_bytes + state_bytes + kept_bytes + working_bytes + buffer_bytes;
  }
  bool operator==(const StepMemory&) const = default;
};

/// Microseconds of one step, as estimated. The parts are those of the stage that ends last.
struct StepTime {
  double total_us = 0;
  double compute_us = 0;       ///< All microbatches.
  double exchange_us = 0;      ///< Changes of layout, and waiting for gathered weights.
  double bubble_us = 0;        ///< The stage waits for others.
  double handover_us = 0;      ///< The stage waits for what others send.
  double gradient_sum_us = 0;  ///< Not hidden behind the backward pass.
  double update_us = 0;
  StepMemory memory;
  double peak_bytes = 0;   ///< All of `memory`.
  double bytes_moved = 0;  ///< Sent by all devices together.
  bool operator==(const StepTime&) const = default;
};

/// What a device does for one node, as estimated. Times are of one microbatch, but for gradient
/// sums and updates, of which there is one a step.
struct NodeEstimate {
  double forward_us = 0, forward_exchange_us = 0;  ///< Exchange: layouts, gathered weights.
  double again_us = 0;  ///< All of the forward pass once more, before the backward pass.
  double backward_us = 0, backward_exchange_us = 0;
  double gradient_sum_us = 0, update_us = 0;
  double weight_bytes = 0;    ///< Weights, gradients and states.
  double kept_bytes = 0;      ///< From the forward pass of a microbatch to its backward pass.
  double handover_bytes = 0;  ///< To the next stage; 0 within one.
  auto operator<=>(const NodeEstimate&) const = default;
};

struct MeshPlan {
  MeshShape shape;
  std::vector<std::int64_t> axis_sizes;  ///< Innermost first.
  std::optional<UnevenAxis> uneven;      ///< If the shape is.
  double bucket_bytes = 0;               ///< In which weights are exchanged.
  bool cuts_states = false;  ///< Those of the optimizer, along axes along which weights are whole.
  Sharding sharding;
  /// The piece of the model that each node belongs to, which runs in stage `piece mod stages`; −1:
  /// nothing runs.
  std::vector<std::int32_t> piece_of_node;
  std::vector<NodeEstimate> estimates;  ///< By node.
  StepTime time;
};

/// The stage of a node that runs; −1: nothing runs.
inline std::int32_t stage_of(const MeshPlan& plan, core::NodeId node) {
  const std::int32_t piece = plan.piece_of_node[node.index()];
  return piece < 0 ? piece : piece % static_cast<std::int32_t>(plan.shape.stages);
}

}  // namespace soapstone::parallel
