// ONNX's own Attention, read as products and a softmax.
#pragma once

#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

/// Listed by composite_readers().
std::vector<OnnxReader> attention_readers();

}  // namespace soapstone::ops
