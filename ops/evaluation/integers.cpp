// Functions of exact integers, and their way from and to the elements of constants.
#include "ops/evaluation/integers.h"

#include <cstring>
#include <limits>

#include "core/base/check.h"
#include "ops/evaluation/integer_arithmetic.h"

namespace soapstone::ops {

using core::DataType;

namespace integers {
namespace {

/// Base and exponent are known to have values.
Integer power(Integer base, Integer exponent) {
  if (exponent < 0) return base == 1 || base == -1 ? power(base, -exponent) : kNoInteger;
  Integer result = 1;
  while (true) {
    if ((exponent & 1) != 0) result = multiply(result, base);
    exponent >>= 1;
    if (exponent == 0) return result;
    base = multiply(base, base);
  }
}

/// All arguments are known to have values.
Integer applied_to_values(Function function, const Integer* x) {
  switch (function) {
  case Function::kRelu:
    return x[0] < 0 ? 0 : x[0];
  case Function::kAbs:
    return x[0] < 0 ? -x[0] : x[0];
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kTruncate:
    return x[0];
  case Function::kIsZero:
    return x[0] == 0 ? 1 : 0;
  case Function::kIsNan:
  case Function::kIsInfinite:
    return 0;
  case Function::kLess:
    return x[0] < x[1] ? 1 : 0;
  case Function::kLessOrEqual:
    return x[0] <= x[1] ? 1 : 0;
  case Function::kEqual:
    return x[0] == x[1] ? 1 : 0;
  case Function::kPow:
    return power(x[0], x[1]);
  case Function::kExp:
  case Function::kLog:
  case Function::kLog1p:
  case Function::kSqrt:
  case Function::kTanh:
  case Function::kSigmoid:
  case Function::kErf:
  case Function::kSin:
  case Function::kCos:
    return kNoInteger;
  case Function::kSelect:  // has a value even if one of its arguments has none
    break;
  }
  CHECK(false, "unreachable");
}

}  // namespace

bool rounds(Function function) {
  return function == Function::kTruncate || function == Function::kFloor ||
         function == Function::kCeil;
}

Integer quotient(Function rounding, Integer a, Integer b) {
  if (is_none(a) || is_none(b) || b == 0) return kNoInteger;
  const Integer toward_zero = a / b;
  if (rounding == Function::kTruncate || a % b == 0) return toward_zero;
  const bool is_negative = (a < 0) != (b < 0);
  if (rounding == Function::kFloor) return is_negative ? toward_zero - 1 : toward_zero;
  return is_negative ? toward_zero : toward_zero + 1;
}

Integer from_rational(Rational value) {
  if (value.denominator == 1) return value.numerator;
  if (value.denominator != 0 || value.numerator == 0) return kNoInteger;
  return value.numerator > 0 ? ~kNoInteger : kNoInteger + 1;
}

Integer apply(Function function, const Integer* arguments) {
  if (is_none(arguments[0])) return kNoInteger;
  if (function == Function::kSelect) return arguments[0] != 0 ? arguments[1] : arguments[2];
  for (std::size_t k = 0; k < properties(function).arity; ++k)
    if (is_none(arguments[k])) return kNoInteger;
  return applied_to_values(function, arguments);
}

}  // namespace integers

bool fits(Integer value, DataType type) {
  const auto bits = 8 * core::size_bytes(type);
  switch (type) {
  case DataType::kBool:
    return value == 0 || value == 1;
  case DataType::kUInt64:
  case DataType::kUInt32:
  case DataType::kUInt16:
  case DataType::kUInt8:
    return value >= 0 && value < Integer{1} << bits;
  case DataType::kInt64:
  case DataType::kInt32:
  case DataType::kInt16:
  case DataType::kInt8:
    return value >= -(Integer{1} << (bits - 1)) && value < Integer{1} << (bits - 1);
  case DataType::kFloat64:
  case DataType::kFloat32:
  case DataType::kFloat16:
  case DataType::kBFloat16:
  case DataType::kString:
  case DataType::kOther:
    return false;
  }
  return false;
}

std::optional<std::vector<Integer>> to_integers(const core::Literal& literal) {
  const auto elements = literal.to_ints();
  if (!elements) return std::nullopt;
  std::vector<Integer> values(elements->begin(), elements->end());
  if (literal.data_type() == DataType::kUInt64)
    for (Integer& value : values) value = static_cast<std::uint64_t>(value);
  if (literal.data_type() == DataType::kBool)
    for (Integer& value : values) value = value != 0 ? 1 : 0;
  return values;
}

std::optional<core::Literal> to_literal(DataType type, const core::Dims& dims,
                                        std::span<const Integer> values) {
  const std::size_t size = core::size_bytes(type);
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!fits(values[k], type)) return std::nullopt;
    // Two's complement, lowest bytes first: a narrow integer is the beginning of a wide one.
    const auto element = static_cast<std::int64_t>(values[k]);
    std::memcpy(bytes.data() + k * size, &element, size);
  }
  return core::Literal::copy(type, dims, bytes);
}

}  // namespace soapstone::ops
