// The dimensions that an ONNX Reduce… node reduces: an attribute in old opsets, an input in new
// ones. Shared by the reductions that are ours and those that are read as compositions.
#pragma once

#include <string_view>
#include <vector>

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {

/// First opset in which the axes are an input.
int axes_input_since(std::string_view onnx_op);

struct ReductionAxes {
  std::vector<std::int64_t> axes;  ///< Non-negative, ascending.
  bool keep_dims = true;
  bool none = false;  ///< noop_with_empty_axes: nothing is reduced.
  /// The attributes of our reduce_… operators; `keep` keeps the dimensions whatever the node says.
  Attributes attributes(bool keep = false) const;
};

/// Errors: kUnsupported if the axes are not known when the model is read.
core::Result<ReductionAxes> read_reduction_axes(const OnnxImport& import);

}  // namespace soapstone::ops
