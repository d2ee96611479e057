// The tools that the ONNX writers of all families share: compositions of several ONNX nodes, and
// the forms of the inputs that ONNX moved from attributes to tensors over time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

using OnnxAttributes = std::vector<std::pair<std::string, OnnxAttribute>>;
using WriteFunction = std::function<core::Status(OnnxExport&)>;

/// Writes a node of the same inputs and outputs, with no attributes.
WriteFunction write_same(std::string op_type);

/// Elements start, start + step, … of each axis; all within the tensor.
struct SliceRanges {
  std::vector<std::int64_t> axes, starts, sizes, steps;
};

/// A tensor of a chain of ONNX nodes.
struct Emitted {
  std::string name;
  core::Dims dims;
};

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
  std::string reduce_mean(std::string x, const std::vector<std::int64_t>& axes);

  // Operations that ONNX says differently over time, of elements of input 0's type. The result is
  // our node's first output if it is `last`, else a new tensor.
  std::string reshape(std::string x, const core::Dims& shape, bool last = false);
  std::string expand(const Emitted& x, const core::Dims& to, bool last = false);
  /// Begins and ends of all dimensions; negative ones crop.
  std::string pad(const Emitted& x, const std::vector<std::int64_t>& pads, double value,
                  bool last = false);
  std::string slice(const Emitted& x, const SliceRanges& ranges, bool last = false);
  /// "Min" or "Max" with broadcasting.
  std::string extremum(const std::string& op_type, const Emitted& a, const Emitted& b,
                       bool last = false);
  Emitted operand(std::size_t k) const { return {input(k), dims(k)}; }
  int opset() const { return out_.opset(); }
  const core::Attributes& attributes() const { return out_.node().attributes; }

 private:
  std::string put(bool last, std::string op_type, std::vector<std::string> inputs,
                  OnnxAttributes attributes = {});
  std::string pad_by_concat(Emitted x, const std::vector<std::int64_t>& pads, double value,
                            bool last);

  OnnxExport& out_;
};

/// The first opset that can express the operator, at least for some element types; 1 if any can.
int first_opset(std::string_view op);

/// This opset cannot express the node.
core::Error cannot_write(const OnnxExport& out, std::string_view why);

}  // namespace soapstone::ops
