// Writes gradients and updates of a step with operators that every runtime knows.
#pragma once

#include "parallel/training/training_step.h"

namespace soapstone::parallel {

/// The step with every gradient operator, and every update, written with standard operators: what
/// with_ordinary_gradients() left follows from the comprehension (ops/lowering/lower.h). Nodes that
/// stay are left as they are. Nodes that
/// are there already are used again, whatever their phase.
/// Errors: kUnsupported, with the node, if one would take tensors of too many elements.
core::Result<TrainingStep> with_standard_operators(TrainingStep step,
                                                   const StaysNode& stays = nullptr);

}  // namespace soapstone::parallel
