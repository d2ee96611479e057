// Element types and tensor types: ours and ONNX's.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/graph/tensor_type.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// Sizes of symbolic dimensions, by name.
using DimensionSizes = std::map<std::string, std::int64_t>;

/// kOther for types that ONNX has and we do not (float8, int4, complex); none for other numbers.
std::optional<core::DataType> data_type_from_onnx(int type);
/// UNDEFINED for kOther.
onnx::TensorProto_DataType data_type_to_onnx(core::DataType type);

/// Bits of one element in raw or external data; 0 where elements have no fixed size, as texts, or
/// where the number is no type that we know.
std::uint64_t element_bits(int type);
/// Likewise, but types of newer files count as the smallest ones that there are.
std::uint64_t fewest_element_bits(int type);

/// The shape is known if every dimension is a number or has a size in `sizes`. A value that is no
/// tensor has type kOther and an unknown shape.
core::TensorType type_from_onnx(const onnx::TypeProto& type, const DimensionSizes& sizes);
/// Without a shape where it is not known or has symbols.
onnx::TypeProto type_to_onnx(const core::TensorType& type);

}  // namespace soapstone::models
