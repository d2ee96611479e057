// Readers of ONNX reductions and normalizations that become several of our operators.
#pragma once

#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

/// ReduceL2, InstanceNormalization, …: listed by composite_readers().
std::vector<OnnxReader> statistics_readers();

}  // namespace soapstone::ops
