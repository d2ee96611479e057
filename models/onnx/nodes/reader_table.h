// The table of which operator mapping reads which ONNX operator.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

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

}  // namespace soapstone::models
