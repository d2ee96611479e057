// The tools that the ONNX readers of all families share: refusals that keep a node opaque,
// composing several of our operators, and scalar constants of any element type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/infer_rules.h"
#include "ops/definition/onnx_mapping.h"

namespace soapstone::ops {

using core::Attributes;
using core::TensorId;

using ReadResult = core::Result<std::vector<TensorId>>;
using ReadFunction = std::function<ReadResult(OnnxImport&)>;

/// A reader that answers kUnsupported unless all inputs have known shapes and numeric elements,
/// input 0 has elements of the given kind, and (for kFloating) all floating inputs have one type.
OnnxReader reader(std::string op_type, Elements elements, ReadFunction read, int since = 1,
                  int until = 1000);
/// Reads a node that has our inputs in our order and no attributes.
ReadFunction read_same(std::string op);

/// Appends several operators. After the first failure everything that follows does nothing.
class Composer {
 public:
  explicit Composer(OnnxImport& import) : import_(import) {}
  /// The first result of the operator.
  TensorId append(std::string_view op, std::vector<TensorId> inputs, Attributes attributes = {});
  TensorId scalar(core::DataType type, double value);
  TensorId reshape(TensorId x, const core::Dims& shape);
  TensorId transpose(TensorId x, const std::vector<std::int64_t>& perm);
  /// Elements start, start + step, … of an axis.
  TensorId slice(TensorId x, std::size_t axis, std::int64_t start, std::int64_t size,
                 std::int64_t step = 1);
  TensorId input(std::size_t k) const { return import_.input(k); }
  bool has_input(std::size_t k) const;
  /// Sizes of a tensor; empty after a failure.
  core::Dims dims(TensorId id) const;
  core::DataType data_type(TensorId id) const;
  ReadResult finish(TensorId result) const;
  ReadResult finish(std::vector<TensorId> results) const;
  void fail(core::Error error);

 private:
  OnnxImport& import_;
  std::optional<core::Error> error_;
};

bool has_input(const OnnxImport& import, std::size_t k);
/// Sizes of input k; none if it is left out. For readers made by reader(): the shape is known.
core::Dims input_dims(const OnnxImport& import, std::size_t k);
/// axis + rank where it is negative. Errors: kInvalidInput if it is out of range.
core::Result<std::int64_t> non_negative_axis(const OnnxImport& import, std::int64_t axis,
                                             std::size_t rank);
/// Non-negative and ascending. Errors: kInvalidInput if out of range or repeated.
core::Result<std::vector<std::int64_t>>
non_negative_axes(const OnnxImport& import, std::vector<std::int64_t> axes, std::size_t rank);
/// A float attribute as the shortest decimal that is this float: 1e-05, not 9.99999974e-06.
double decimal_or(const OnnxImport& import, std::string_view name, double fallback);
double shortest_decimal(float value);

/// All elements of the shape have this value, rounded to the type.
core::Literal filled_literal(core::DataType type, const core::Dims& dims, double value);

/// `<op_type>: <why>`; the node stays as it is.
core::Error cannot_read(const OnnxImport& import, std::string_view why);
/// The node breaks the ONNX standard.
core::Error bad_node(const OnnxImport& import, std::string_view why);

}  // namespace soapstone::ops
