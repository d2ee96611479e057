// What the folding rules of all operators share: values as 64-bit integers or doubles, and the
// attributes of the node. Private to the fold*.cpp files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/onnx/shapes/fold.h"

namespace soapstone::models::folding {

/// A tensor's elements. Integers and bool in `ints`, f32 and f64 in `reals`; the other is empty.
struct Values {
  core::DataType type = core::DataType::kInt64;
  core::Dims dims;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;

  bool is_real() const { return core::is_floating(type); }
  std::size_t count() const { return is_real() ? reals.size() : ints.size(); }
};
std::optional<Values> to_values(const core::Literal& literal);
/// None if an integer does not fit its type.
std::optional<core::Literal> to_literal(const Values& values);

using Outputs = std::optional<std::vector<Values>>;

/// A node all of whose present inputs are known, but for Shape and Size, which read types alone.
class FoldNode {
 public:
  FoldNode(const onnx::NodeProto& node, int opset, std::span<const FoldInput> inputs)
      : node_(node), opset_(opset), types_(inputs), values_(inputs.size()) {}

  /// False if an input's value is not known or of a type without folding.
  bool load_values();
  bool has(std::size_t k) const { return k < types_.size() && types_[k].present; }
  const Values& input(std::size_t k) const { return *values_[k]; }
  const core::TensorType& type(std::size_t k) const { return types_[k].type; }
  std::size_t input_count() const { return types_.size(); }
  std::size_t output_count() const { return static_cast<std::size_t>(node_.output_size()); }
  int opset() const { return opset_; }
  std::string_view op_type() const { return node_.op_type(); }

  std::int64_t int_or(std::string_view name, std::int64_t fallback) const;
  const onnx::AttributeProto* attribute(std::string_view name) const;
  /// From the attribute or, in newer opsets, from input k. None: neither is there.
  std::optional<std::vector<std::int64_t>> ints(std::string_view name, std::size_t k) const;

 private:
  const onnx::NodeProto& node_;
  int opset_;
  std::span<const FoldInput> types_;
  std::vector<std::optional<Values>> values_;
};

/// Both operands of an elementwise operator, broadcast to the common shape; none if that is not
/// possible.
struct Operands {
  Values a, b;
};
std::optional<Operands> operands(const FoldNode& node);

using FoldFunction = Outputs (*)(const FoldNode&);
/// Null if the family does not know the operator.
FoldFunction find_arithmetic(std::string_view op_type);
FoldFunction find_layout(std::string_view op_type);
FoldFunction find_slicing(std::string_view op_type);
FoldFunction find_comparison(std::string_view op_type);
FoldFunction find_creation(std::string_view op_type);

/// Element count, or none if it is larger than anything that is folded.
std::optional<std::size_t> bearable_count(const core::Dims& dims);
/// −rank … rank−1 to 0 … rank−1.
std::optional<std::size_t> normal_axis(std::int64_t axis, std::size_t rank);
/// All of them, ascending and each once.
std::optional<std::vector<std::size_t>> normal_axes(const std::vector<std::int64_t>& axes,
                                                    std::size_t rank);
std::vector<std::size_t> row_major_strides(const core::Dims& dims);
std::optional<core::Dims> broadcast(const core::Dims& a, const core::Dims& b);
/// For each element of `to`, which element of `from` NumPy broadcasting puts there.
std::vector<std::size_t> broadcast_sources(const core::Dims& from, const core::Dims& to);
/// Element i of the result is element sources[i] of `from`.
Values take(const Values& from, core::Dims dims, const std::vector<std::size_t>& sources);

/// Appends elements `begin` to `end` of `from`.
void append(Values& to, const Values& from, std::size_t begin, std::size_t end);
/// Product of sizes `begin` to `end`. Precondition: it fits.
std::int64_t product(const core::Dims& dims, std::size_t begin, std::size_t end);

/// Calls `visit` with every index into `dims`, in row-major order.
template <class Visit>
void each_index(const core::Dims& dims, const Visit& visit) {
  core::Dims at(dims.size(), 0);
  for (std::int64_t dim : dims) {
    if (dim == 0) return;
  }
  while (true) {
    visit(at);
    std::size_t axis = dims.size();
    while (axis > 0 && ++at[axis - 1] == dims[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace soapstone::models::folding
