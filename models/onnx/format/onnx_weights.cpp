// Decodes and encodes TensorProto. A tensor says its size twice, by dimensions and by data; every
// reader below compares the two before it touches a byte.
#include "models/onnx/format/onnx_weights.h"

#include <fmt/format.h>

#include <cstring>

#include "models/onnx/format/onnx_types.h"

namespace soapstone::models {
namespace {

using core::DataType;
using core::Literal;
using core::LiteralPtr;
using core::Result;
using onnx::TensorProto;

core::Error broken(const TensorProto& tensor, std::string why) {
  return core::invalid_input(std::move(why)).at(fmt::format("tensor '{}'", tensor.name()));
}

struct Contents {
  DataType type;
  core::Dims dims;
  std::uint64_t count = 0, size_bytes = 0;
};

Result<Contents> contents_of(const TensorProto& tensor) {
  const auto type = data_type_from_onnx(tensor.data_type());
  if (!type) {
    return broken(tensor, fmt::format("{} is no ONNX element type", tensor.data_type()));
  }
  if (tensor.has_segment()) return broken(tensor, "is stored in segments, which nobody uses");
  Contents contents{*type, {tensor.dims().begin(), tensor.dims().end()}};
  const auto count = core::checked_element_count(contents.dims);
  if (!count) {
    return broken(tensor,
                  fmt::format("has the impossible dimensions {}", core::to_string(contents.dims)));
  }
  contents.count = static_cast<std::uint64_t>(*count);
  if (__builtin_mul_overflow(contents.count, core::size_bytes(*type), &contents.size_bytes)) {
    return broken(tensor, fmt::format("is too large: {}", core::to_string(contents.dims)));
  }
  return contents;
}

core::Error wrong_size(const TensorProto& tensor, const Contents& contents, std::uint64_t found,
                       std::string_view unit) {
  return broken(tensor, fmt::format("has {} {} of data, but {}{} need {}", found, unit,
                                    core::to_string(contents.type), core::to_string(contents.dims),
                                    unit == "bytes" ? contents.size_bytes : contents.count));
}

Result<LiteralPtr> from_raw(TensorProto& tensor, Contents contents) {
  if (tensor.raw_data().size() != contents.size_bytes) {
    return wrong_size(tensor, contents, tensor.raw_data().size(), "bytes");
  }
  const auto owner = std::make_shared<const std::string>(std::move(*tensor.mutable_raw_data()));
  return std::make_shared<const Literal>(Literal::view(contents.type, std::move(contents.dims),
                                                       std::as_bytes(std::span(*owner)), owner));
}

/// From a field with one number an element, each of which becomes a Stored.
template <class Stored, class Field>
Result<LiteralPtr> from_field(const TensorProto& tensor, const Field& field, Contents contents) {
  if (static_cast<std::uint64_t>(field.size()) != contents.count) {
    return wrong_size(tensor, contents, static_cast<std::uint64_t>(field.size()), "numbers");
  }
  std::vector<std::byte> bytes(contents.size_bytes);
  std::size_t at = 0;
  for (const auto number : field) {
    const Stored element = static_cast<Stored>(number);
    std::memcpy(bytes.data() + at, &element, sizeof element);
    at += sizeof element;
  }
  return std::make_shared<const Literal>(
      Literal::copy(contents.type, std::move(contents.dims), bytes));
}

Result<LiteralPtr> from_numbers(const TensorProto& t, const Contents& contents) {
  switch (contents.type) {
  case DataType::kFloat32:
    return from_field<float>(t, t.float_data(), contents);
  case DataType::kFloat64:
    return from_field<double>(t, t.double_data(), contents);
  case DataType::kFloat16:
  case DataType::kBFloat16:
  case DataType::kUInt16:
    return from_field<std::uint16_t>(t, t.int32_data(), contents);
  case DataType::kInt64:
    return from_field<std::int64_t>(t, t.int64_data(), contents);
  case DataType::kInt32:
    return from_field<std::int32_t>(t, t.int32_data(), contents);
  case DataType::kInt16:
    return from_field<std::int16_t>(t, t.int32_data(), contents);
  case DataType::kInt8:
    return from_field<std::int8_t>(t, t.int32_data(), contents);
  case DataType::kUInt64:
    return from_field<std::uint64_t>(t, t.uint64_data(), contents);
  case DataType::kUInt32:
    return from_field<std::uint32_t>(t, t.uint64_data(), contents);
  case DataType::kUInt8:
  case DataType::kBool:
    return from_field<std::uint8_t>(t, t.int32_data(), contents);
  case DataType::kString:
  case DataType::kOther:
    break;
  }
  return broken(t, "has elements that are no numbers");
}

bool is_external(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

}  // namespace

bool fits_literal(const TensorProto& tensor) {
  const auto type = data_type_from_onnx(tensor.data_type());
  return !type || core::size_bytes(*type) != 0;
}

Result<LiteralPtr> to_literal(TensorProto& tensor, ExternalFiles& files) {
  SOAPSTONE_ASSIGN_OR_RETURN(Contents contents, contents_of(tensor));
  if (is_external(tensor)) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto found, files.read(tensor, contents.size_bytes));
    return std::make_shared<const Literal>(
        Literal::view(contents.type, std::move(contents.dims), found.bytes, found.owner));
  }
  if (!tensor.raw_data().empty()) return from_raw(tensor, std::move(contents));
  return from_numbers(tensor, contents);
}

namespace {

/// Calls `visit` with every tensor inside a graph or node, until it fails.
template <class Visit>
core::Status each_tensor(onnx::GraphProto& graph, const Visit& visit);

template <class Visit>
core::Status each_tensor(onnx::NodeProto& node, const Visit& visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) SOAPSTONE_RETURN_IF_ERROR(visit(*attribute.mutable_t()));
    for (auto& tensor : *attribute.mutable_tensors()) SOAPSTONE_RETURN_IF_ERROR(visit(tensor));
    if (attribute.has_g()) SOAPSTONE_RETURN_IF_ERROR(each_tensor(*attribute.mutable_g(), visit));
    for (auto& graph : *attribute.mutable_graphs()) {
      SOAPSTONE_RETURN_IF_ERROR(each_tensor(graph, visit));
    }
  }
  return core::Done{};
}

template <class Visit>
core::Status each_tensor(onnx::GraphProto& graph, const Visit& visit) {
  for (auto& tensor : *graph.mutable_initializer()) SOAPSTONE_RETURN_IF_ERROR(visit(tensor));
  for (auto& node : *graph.mutable_node()) SOAPSTONE_RETURN_IF_ERROR(each_tensor(node, visit));
  return core::Done{};
}

}  // namespace

core::Status embed_external_data(TensorProto& tensor, ExternalFiles& files) {
  if (!is_external(tensor)) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const Contents contents, contents_of(tensor));
  const std::uint64_t element = element_bits(tensor.data_type());
  std::uint64_t bits = 0;
  if (element == 0)
    return broken(tensor, "is external and of an element type without a fixed size");
  if (__builtin_mul_overflow(contents.count, element, &bits))
    return broken(tensor, fmt::format("is too large: {}", core::to_string(contents.dims)));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto found, files.read(tensor, bits / 8 + (bits % 8 != 0)));
  tensor.set_raw_data(found.bytes.data(), found.bytes.size());
  tensor.clear_external_data();
  tensor.clear_data_location();
  return core::Done{};
}

core::Status embed_external_data(onnx::NodeProto& node, ExternalFiles& files) {
  return each_tensor(node, [&](TensorProto& tensor) { return embed_external_data(tensor, files); });
}

TensorProto tensor_header(const Literal& literal, std::string name) {
  TensorProto tensor;
  tensor.set_name(std::move(name));
  tensor.set_data_type(data_type_to_onnx(literal.data_type()));
  for (std::int64_t dim : literal.dims()) tensor.add_dims(dim);
  return tensor;
}

TensorProto to_tensor_proto(const Literal& literal, std::string name) {
  TensorProto tensor = tensor_header(literal, std::move(name));
  tensor.set_raw_data(literal.bytes().data(), literal.bytes().size());
  return tensor;
}

}  // namespace soapstone::models
