// Readers of operators of ONNX Runtime's own domain that become several of ours and have no
// definition of their own.
#pragma once

#include <vector>

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {

/// FusedConv, FusedGemm, …: listed by composite_readers(). `read_gemm` reads ONNX's Gemm.
std::vector<OnnxReader> contrib_readers(const ReadFunction& read_gemm);

}  // namespace soapstone::ops
