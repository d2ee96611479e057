// Batch norm in training: on the mean and the variance of the batch, which running statistics
// follow.
#pragma once

#include "ops/definition/op_definition.h"

namespace soapstone::ops {

/// The training form of a `batch_norm`. Mean and variance (that of all elements, as ONNX's
/// BatchNormalization with training_mode = 1 has it) are over all dimensions but the channels; a
/// running statistic becomes momentum·itself + (1 − momentum)·that of the batch.
core::Result<TrainingForm> train_on_batch_statistics(core::GraphBuilder& builder,
                                                     const core::Node& node, double momentum);

}  // namespace soapstone::ops
