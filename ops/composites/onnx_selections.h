// Readers of ONNX operators that select, replace or rotate elements and are several of ours.
#pragma once

#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

/// GatherND, ScatterND, RotaryEmbedding, …: listed by composite_readers().
std::vector<OnnxReader> selection_readers();

}  // namespace soapstone::ops
