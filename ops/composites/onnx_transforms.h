// Readers of ONNX's Fourier transforms, which are products with constant matrices.
#pragma once

#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

/// DFT, STFT, and the windows that signals are cut with: listed by composite_readers().
std::vector<OnnxReader> transform_readers();

}  // namespace soapstone::ops
