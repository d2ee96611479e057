// The table of element types, and tensor types in both directions.
#include "models/onnx/format/onnx_types.h"

#include <array>

namespace soapstone::models {
namespace {

using core::DataType;
using Element = onnx::TensorProto;

struct Pair {
  DataType ours;
  onnx::TensorProto_DataType onnx;
};

constexpr std::array<Pair, 14> kPairs = {{
    {DataType::kFloat32, Element::FLOAT},
    {DataType::kFloat64, Element::DOUBLE},
    {DataType::kFloat16, Element::FLOAT16},
    {DataType::kBFloat16, Element::BFLOAT16},
    {DataType::kInt64, Element::INT64},
    {DataType::kInt32, Element::INT32},
    {DataType::kInt16, Element::INT16},
    {DataType::kInt8, Element::INT8},
    {DataType::kUInt64, Element::UINT64},
    {DataType::kUInt32, Element::UINT32},
    {DataType::kUInt16, Element::UINT16},
    {DataType::kUInt8, Element::UINT8},
    {DataType::kBool, Element::BOOL},
    {DataType::kString, Element::STRING},
}};

std::optional<std::int64_t> size_of(const onnx::TensorShapeProto::Dimension& dimension,
                                    const DimensionSizes& sizes) {
  if (dimension.has_dim_value() && dimension.dim_value() >= 0) return dimension.dim_value();
  if (!dimension.has_dim_param()) return std::nullopt;
  const auto known = sizes.find(dimension.dim_param());
  if (known == sizes.end()) return std::nullopt;
  return known->second;
}

}  // namespace

std::optional<DataType> data_type_from_onnx(int type) {
  for (const Pair& pair : kPairs) {
    if (pair.onnx == type) return pair.ours;
  }
  const bool defined = onnx::TensorProto_DataType_IsValid(type) && type != Element::UNDEFINED;
  return defined ? std::optional(DataType::kOther) : std::nullopt;
}

onnx::TensorProto_DataType data_type_to_onnx(DataType type) {
  for (const Pair& pair : kPairs) {
    if (pair.ours == type) return pair.onnx;
  }
  return Element::UNDEFINED;
}

std::uint64_t element_bits(int type) {
  switch (type) {
  case Element::COMPLEX128:
    return 128;
  case Element::DOUBLE:
  case Element::INT64:
  case Element::UINT64:
  case Element::COMPLEX64:
    return 64;
  case Element::FLOAT:
  case Element::INT32:
  case Element::UINT32:
    return 32;
  case Element::FLOAT16:
  case Element::BFLOAT16:
  case Element::INT16:
  case Element::UINT16:
    return 16;
  case Element::INT8:
  case Element::UINT8:
  case Element::BOOL:
  case Element::FLOAT8E4M3FN:
  case Element::FLOAT8E4M3FNUZ:
  case Element::FLOAT8E5M2:
  case Element::FLOAT8E5M2FNUZ:
  case Element::FLOAT8E8M0:
    return 8;
  case Element::INT4:
  case Element::UINT4:
  case Element::FLOAT4E2M1:
    return 4;
  case Element::INT2:
  case Element::UINT2:
    return 2;
  default:
    return 0;
  }
}

std::uint64_t fewest_element_bits(int type) {
  const bool has_none = type == Element::STRING || type == Element::UNDEFINED;
  const std::uint64_t bits = element_bits(type);
  return bits == 0 && !has_none ? 2 : bits;
}

core::TensorType type_from_onnx(const onnx::TypeProto& type, const DimensionSizes& sizes) {
  core::TensorType result{DataType::kOther, {}, false};
  if (!type.has_tensor_type()) return result;
  const auto& tensor = type.tensor_type();
  result.data_type = data_type_from_onnx(tensor.elem_type()).value_or(DataType::kOther);
  if (!tensor.has_shape()) return result;
  core::Dims dims;
  for (const auto& dimension : tensor.shape().dim()) {
    const auto size = size_of(dimension, sizes);
    if (!size) return result;
    dims.push_back(*size);
  }
  result.shape = core::to_shape(dims);
  result.shape_known = true;
  return result;
}

onnx::TypeProto type_to_onnx(const core::TensorType& type) {
  onnx::TypeProto result;
  auto& tensor = *result.mutable_tensor_type();
  tensor.set_elem_type(data_type_to_onnx(type.data_type));
  const auto dims = core::concrete(type.shape);
  if (!type.shape_known || !dims) return result;
  tensor.mutable_shape();  // a scalar has a shape too
  for (std::int64_t dim : *dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  return result;
}

}  // namespace soapstone::models
