// Compares what the tensors of a model file claim with the data that they hold.
#pragma once

#include "core/base/result.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// Every tensor of the model, also inside attributes, subgraphs, functions and sparse tensors: its
/// dimensions are possible, and it holds as many elements as they say. After this ONNX's checker
/// may read them. External data is compared when it is read. Errors: kInvalidInput, which names the
/// tensor.
core::Status check_tensor_claims(const onnx::ModelProto& model);

}  // namespace soapstone::models
