// The shapes of a model's inputs, where the file leaves sizes open.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/onnx/format/onnx_model.h"
#include "models/onnx/format/onnx_types.h"

namespace soapstone::models {

struct SettledInputs {
  std::vector<core::TensorType> types;  ///< Types of graph.input(), in order.
  DimensionSizes sizes;                 ///< Sizes of the symbolic dimensions.
  std::vector<std::string> warnings;    ///< Assumptions that were made.
};

/// Precondition: no input has an initializer.
/// Errors: kInvalidInput for open sizes that the options do not give, and for options that
/// contradict the model or name nothing in it.
core::Result<SettledInputs> settle_inputs(const onnx::GraphProto& graph,
                                          const ImportOptions& options);

}  // namespace soapstone::models
