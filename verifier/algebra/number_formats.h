// The numbers that element types of tensors can hold: integers of some bits, floating-point numbers
// of some precision.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/tensor_type.h"

namespace soapstone::verifier {

__extension__ typedef __int128 WideInteger;

/// All integers from low to high.
struct IntegerRange {
  WideInteger low = 0;
  WideInteger high = 0;
  bool contains(const IntegerRange& other) const { return low <= other.low && other.high <= high; }
};

/// The values of an integer type, 0 and 1 of bool. None: no such type.
std::optional<IntegerRange> range_of(core::DataType type);
int bits_of(core::DataType type);
/// All integers up to 2^k are numbers of the floating type. The largest such k.
int precision_of(core::DataType type);
/// Every number of the floating type `part` is one of `whole`.
bool holds_all_of(core::DataType whole, core::DataType part);

}  // namespace soapstone::verifier
