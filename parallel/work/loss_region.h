// The end of a training step, from the last contraction with a weight to the loss. Its gradients
// need nothing else, so it may run on some rows at a time, forward and backward: logits over a
// large vocabulary then take the memory of those rows.
#pragma once

#include <vector>

#include "parallel/work/step_work.h"

namespace soapstone::parallel {

struct LossRegion {
  std::vector<core::NodeId> nodes;  ///< In their order. Empty: there is none.
  std::int64_t rows = 0;  ///< The contraction's result has them, all but its last dimension.
};

/// Precondition: `work` is that of training. Results that the loss reads may be outputs of the
/// graph, too: a step of training has no use for them.
LossRegion loss_region(const core::Graph& graph, const StepWork& work);

/// The work where the region runs in so many turns, which divide its rows.
StepWork in_turns(const core::Graph& graph, StepWork work, const LossRegion& region,
                  std::int64_t turns);

}  // namespace soapstone::parallel
