// The tools of the ONNX readers of all families. A refusal is an Error of kind kUnsupported: the
// node is then kept opaque, which is always right.
#include "ops/onnx/onnx_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/base/float16.h"
#include "ops/definition/indexing.h"

namespace soapstone::ops {

using core::DataType;
using core::Dims;
using core::Error;
using core::Literal;
using core::Result;

core::Error cannot_read(const OnnxImport& import, std::string_view why) {
  return core::unsupported(fmt::format("{}: {}", import.op_type(), why));
}

core::Error bad_node(const OnnxImport& import, std::string_view why) {
  return core::invalid_input(fmt::format("{}: {}", import.op_type(), why));
}

bool has_input(const OnnxImport& import, std::size_t k) {
  return k < import.input_count() && import.input(k).valid();
}

namespace {

core::Status check_inputs(const OnnxImport& import, Elements elements) {
  if (!has_input(import, 0)) return bad_node(import, "its first input is missing");
  for (std::size_t k = 0; k < import.input_count(); ++k) {
    if (!has_input(import, k)) continue;
    const core::TensorType& type = import.type(import.input(k));
    if (!type.shape_known || !core::concrete(type.shape))
      return cannot_read(import, fmt::format("the shape of input {} is not known", k));
    const bool mixed = elements == Elements::kFloating && core::is_floating(type.data_type) &&
                       type.data_type != import.type(import.input(0)).data_type;
    if (mixed || !admits(k == 0 ? elements : Elements::kNumbers, type.data_type))
      return cannot_read(import, fmt::format("input {} has elements of type {}", k,
                                             core::to_string(type.data_type)));
  }
  return core::Done{};
}

template <class T>
std::vector<std::byte> repeat(T element, std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&bytes[i * sizeof(T)], &element, sizeof(T));
  return bytes;
}

std::vector<std::byte> repeat(DataType type, double value, std::size_t count) {
  switch (type) {
  case DataType::kFloat32:
    return repeat(static_cast<float>(value), count);
  case DataType::kFloat64:
    return repeat(value, count);
  case DataType::kFloat16:
    return repeat(core::f16_from_float(static_cast<float>(value)), count);
  case DataType::kBFloat16:
    return repeat(core::bf16_from_float(static_cast<float>(value)), count);
  case DataType::kBool:
    return repeat(static_cast<std::uint8_t>(value != 0), count);
  default:
    break;
  }
  // Integers: the low bytes of the two's complement, whatever the width.
  const auto wide = value >= 0x1p63
                        ? static_cast<std::uint64_t>(value)
                        : std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  switch (core::size_bytes(type)) {
  case 1:
    return repeat(static_cast<std::uint8_t>(wide), count);
  case 2:
    return repeat(static_cast<std::uint16_t>(wide), count);
  case 4:
    return repeat(static_cast<std::uint32_t>(wide), count);
  default:
    return repeat(wide, count);
  }
}

}  // namespace

OnnxReader reader(std::string op_type, Elements elements, ReadFunction read, int since, int until) {
  auto checked = [elements, read = std::move(read)](OnnxImport& import) -> ReadResult {
    SOAPSTONE_RETURN_IF_ERROR(check_inputs(import, elements));
    return read(import);
  };
  return {std::move(op_type), since, until, std::move(checked), {}};
}

ReadFunction read_same(std::string op) {
  return [op = std::move(op)](OnnxImport& import) -> ReadResult {
    std::vector<TensorId> inputs;
    for (std::size_t k = 0; k < import.input_count(); ++k) inputs.push_back(import.input(k));
    return import.append(op, std::move(inputs), {});
  };
}

TensorId Composer::append(std::string_view op, std::vector<TensorId> inputs,
                          Attributes attributes) {
  if (error_) return TensorId::none();
  auto results = import_.append(op, std::move(inputs), std::move(attributes));
  if (results) return results->front();
  error_ = results.error();
  return TensorId::none();
}

TensorId Composer::scalar(DataType type, double value) {
  return import_.constant(filled_literal(type, {}, value));
}

TensorId Composer::reshape(TensorId x, const Dims& shape) {
  if (error_ || !x.valid() || dims(x) == shape) return x;
  return append("reshape", {x}, {{"shape", to_sizes(shape)}});
}

TensorId Composer::slice(TensorId x, std::size_t axis, std::int64_t start, std::int64_t size,
                         std::int64_t step) {
  return append("slice", {x},
                {{"axes", to_sizes(Dims{static_cast<std::int64_t>(axis)})},
                 {"starts", to_sizes(Dims{start})},
                 {"sizes", to_sizes(Dims{size})},
                 {"steps", to_sizes(Dims{step})}});
}

TensorId Composer::transpose(TensorId x, const std::vector<std::int64_t>& perm) {
  if (error_ || std::is_sorted(perm.begin(), perm.end())) return x;
  return append("transpose", {x}, {{"perm", to_sizes(perm)}});
}

bool Composer::has_input(std::size_t k) const { return ops::has_input(import_, k); }

Dims Composer::dims(TensorId id) const {
  if (error_ || !id.valid()) return {};
  return core::concrete(import_.type(id).shape).value_or(Dims{});
}

DataType Composer::data_type(TensorId id) const {
  return error_ || !id.valid() ? DataType::kFloat32 : import_.type(id).data_type;
}

ReadResult Composer::finish(TensorId result) const { return finish(std::vector{result}); }

ReadResult Composer::finish(std::vector<TensorId> results) const {
  if (error_) return *error_;
  return results;
}

void Composer::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Dims input_dims(const OnnxImport& import, std::size_t k) {
  if (!has_input(import, k)) return {};
  return core::concrete(import.type(import.input(k)).shape).value_or(Dims{});
}

Result<std::int64_t> non_negative_axis(const OnnxImport& import, std::int64_t axis,
                                       std::size_t rank) {
  const auto bound = static_cast<std::int64_t>(rank);
  if (axis < -bound || axis >= bound)
    return bad_node(import, fmt::format("axis {} is not one of a tensor of rank {}", axis, rank));
  return axis < 0 ? axis + bound : axis;
}

Result<std::vector<std::int64_t>>
non_negative_axes(const OnnxImport& import, std::vector<std::int64_t> axes, std::size_t rank) {
  for (std::int64_t& axis : axes) {
    SOAPSTONE_ASSIGN_OR_RETURN(axis, non_negative_axis(import, axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return bad_node(import, "an axis is given twice");
  return axes;
}

double shortest_decimal(float value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

double decimal_or(const OnnxImport& import, std::string_view name, double fallback) {
  return shortest_decimal(static_cast<float>(import.real_or(name, fallback)));
}

Literal filled_literal(DataType type, const Dims& dims, double value) {
  const auto count = static_cast<std::size_t>(core::element_count(dims));
  return Literal::copy(type, dims, repeat(type, value, count));
}

}  // namespace soapstone::ops
