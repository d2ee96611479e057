// What the ONNX writers of all families share: compositions of several ONNX nodes, and the forms
// of the inputs that ONNX moved from attributes to tensors over time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/onnx_mapping.h"

namespace soapstone::ops {

using OnnxAttributes = std::vector<std::pair<std::string, OnnxAttribute>>;
using WriteFunction = std::function<core::Status(OnnxExport&)>;

/// Writes a node of the same inputs and outputs, with no attributes.
WriteFunction write_same(std::string op_type);

/// Writes one of our nodes as a chain of ONNX nodes.
class Emitter {
 public:
  explicit Emitter(OnnxExport& out) : out_(out) {}
  /// One ONNX node with one new result, whose name is returned.
  std::string emit(std::string op_type, std::vector<std::string> inputs,
                   OnnxAttributes attributes = {});
  /// The last ONNX node: it produces our node's first output.
  core::Status finish(std::string op_type, std::vector<std::string> inputs,
                      OnnxAttributes attributes = {});
  /// Name of our node's input k.
  std::string input(std::size_t k) const { return out_.name(out_.node().inputs[k]); }
  bool has_input(std::size_t k) const;
  core::DataType data_type(std::size_t k) const;
  core::Dims dims(std::size_t k) const;
  /// A scalar of the element type of input 0.
  std::string scalar(double value);
  std::string ints(const std::vector<std::int64_t>& values);
  std::string integer(std::int64_t value);  ///< A scalar of type i64.
  std::string reshape(std::string x, const core::Dims& shape);
  std::string reduce_mean(std::string x, const std::vector<std::int64_t>& axes);
  int opset() const { return out_.opset(); }
  const core::Attributes& attributes() const { return out_.node().attributes; }

 private:
  OnnxExport& out_;
};

/// This opset cannot express the node.
core::Error cannot_write(const OnnxExport& out, std::string_view why);

}  // namespace soapstone::ops
