// What follows from the phases of a step's nodes.
#pragma once

#include <vector>

#include "parallel/training/training_step.h"

namespace soapstone::parallel {

/// The loss belongs to the forward pass.
inline bool is_forward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }

/// Results of the forward pass that nodes of other phases read.
std::vector<core::TensorId> kept_results(const core::Graph& graph,
                                         const std::vector<Phase>& phases);

}  // namespace soapstone::parallel
