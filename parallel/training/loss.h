// Appends the loss to a network.
#pragma once

#include "parallel/training/training_step.h"

namespace soapstone::parallel {

struct AppendedLoss {
  core::TensorId value;
  core::TensorId labels;  ///< A new input, or none.
};

/// Errors: kInvalidInput if no output suits the loss.
core::Result<AppendedLoss> append_loss(core::GraphBuilder& builder, const core::Graph& forward,
                                       Loss loss);

}  // namespace soapstone::parallel
