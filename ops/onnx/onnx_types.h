// The numbers by which ONNX names element types (TensorProto.DataType).
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/tensor_type.h"

namespace soapstone::ops {

struct OnnxType {
  std::int64_t number;
  core::DataType type;
};

inline constexpr OnnxType kOnnxTypes[] = {
    {1, core::DataType::kFloat32},  {2, core::DataType::kUInt8},     {3, core::DataType::kInt8},
    {4, core::DataType::kUInt16},   {5, core::DataType::kInt16},     {6, core::DataType::kInt32},
    {7, core::DataType::kInt64},    {8, core::DataType::kString},    {9, core::DataType::kBool},
    {10, core::DataType::kFloat16}, {11, core::DataType::kFloat64},  {12, core::DataType::kUInt32},
    {13, core::DataType::kUInt64},  {16, core::DataType::kBFloat16},
};

inline std::optional<core::DataType> from_onnx_type(std::int64_t number) {
  for (const OnnxType& entry : kOnnxTypes)
    if (entry.number == number) return entry.type;
  return std::nullopt;
}

/// 0, which is ONNX's UNDEFINED, for types that ONNX has no number for.
inline std::int64_t to_onnx_type(core::DataType type) {
  for (const OnnxType& entry : kOnnxTypes)
    if (entry.type == type) return entry.number;
  return 0;
}

}  // namespace soapstone::ops
