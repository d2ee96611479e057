// See number_formats.h.
#include "verifier/algebra/number_formats.h"

namespace soapstone::verifier {

using core::DataType;

namespace {

bool is_unsigned(DataType type) {
  return type == DataType::kUInt64 || type == DataType::kUInt32 || type == DataType::kUInt16 ||
         type == DataType::kUInt8;
}

}  // namespace

int bits_of(DataType type) { return 8 * static_cast<int>(core::size_bytes(type)); }

std::optional<IntegerRange> range_of(DataType type) {
  if (type == DataType::kBool) return IntegerRange{0, 1};
  const int bits = bits_of(type);
  if (core::is_floating(type) || bits == 0) return std::nullopt;
  const WideInteger one = 1;
  if (is_unsigned(type)) return IntegerRange{0, (one << bits) - 1};
  return IntegerRange{-(one << (bits - 1)), (one << (bits - 1)) - 1};
}

int precision_of(DataType type) {
  switch (type) {
  case DataType::kFloat64:
    return 53;
  case DataType::kFloat32:
    return 24;
  case DataType::kFloat16:
    return 11;
  case DataType::kBFloat16:
    return 8;
  default:
    return 0;
  }
}

bool holds_all_of(DataType whole, DataType part) {
  if (whole == part) return true;
  if (whole == DataType::kFloat64) return core::is_floating(part);
  return whole == DataType::kFloat32 && (part == DataType::kFloat16 || part == DataType::kBFloat16);
}

}  // namespace soapstone::verifier
