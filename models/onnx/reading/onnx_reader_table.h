// The table of which operator mapping reads which ONNX operator, and the view that a mapping has of
// the node.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/onnx/reading/onnx_import.h"
#include "ops/definition/onnx_mapping.h"

namespace soapstone::models {

/// All readers of all operators, by name. Immutable; made on first use; safe from any thread.
class ReaderTable {
 public:
  static const ReaderTable& get();
  /// Null if nobody reads it.
  const ops::OnnxReader* find(const std::string& domain, const std::string& op_type,
                              int opset) const;

 private:
  ReaderTable();
  void add(const ops::OnnxReader& reader);

  std::unordered_map<std::string, std::vector<ops::OnnxReader>> readers_;
};

/// Lets `reader` append what the node means.
/// Errors: kInvalidInput if the node breaks the ONNX standard; kUnsupported if it does not, but
/// the reader cannot take it.
core::Result<std::vector<core::TensorId>> read_with(const ops::OnnxReader& reader,
                                                    ImportState& state, onnx::NodeProto& node);

}  // namespace soapstone::models
