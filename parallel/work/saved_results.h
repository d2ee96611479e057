// Which results of the forward pass gradients may read, and what the backward pass has to compute
// again for those that they may not.
#pragma once

#include <vector>

#include "parallel/training/recompute.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

/// By tensor. `borders`: by tensor, whether it lies between blocks of the model; empty: none does.
/// Inputs are saved whatever is computed again.
std::vector<bool> saved_results(const core::Graph& graph, const StepWork& work, Recompute what,
                                const std::vector<bool>& borders);

/// Computes again what gradients read and is not saved, from what is. Precondition: `work` is
/// that of training.
StepWork computing_again(const core::Graph& graph, StepWork work, const std::vector<bool>& saved);

}  // namespace soapstone::parallel
