// Readers of ONNX operators that keep or set elements by their position.
#pragma once

#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

/// Trilu, OneHot: listed by composite_readers().
std::vector<OnnxReader> mask_readers();

}  // namespace soapstone::ops
