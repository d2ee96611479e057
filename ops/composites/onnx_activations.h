// Readers of ONNX functions of single elements that are several of our operators.
#pragma once

#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

/// Selu, Softsign, Shrink, …: listed by composite_readers().
std::vector<OnnxReader> activation_readers();

}  // namespace soapstone::ops
