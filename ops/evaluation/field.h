// Arithmetic modulo the Mersenne prime 2^61 − 1, and what the scalar functions become there.
// Values are kept below the prime. The order is that of the signed representative, |x| < 2^60.
#pragma once

#include <cstdint>

#include "ops/evaluation/evaluate.h"

namespace soapstone::ops::field {

using Value = Field::Value;
__extension__ typedef unsigned __int128 Wide;
inline constexpr Value kPrime = Field::kPrime;

constexpr Value fold(Value x) {
  x = (x & kPrime) + (x >> 61);
  return x >= kPrime ? x - kPrime : x;
}
constexpr Value fold(Wide x) {
  const Value low = static_cast<Value>(x) & kPrime;
  const Value middle = static_cast<Value>(x >> 61) & kPrime;
  return fold(low + middle + static_cast<Value>(x >> 122));
}
constexpr Value add(Value a, Value b) {
  const Value s = a + b;
  return s >= kPrime ? s - kPrime : s;
}
constexpr Value negate(Value a) { return a == 0 ? 0 : kPrime - a; }
constexpr Value multiply(Value a, Value b) { return fold(Wide{a} * b); }

constexpr bool is_negative(Value a) { return a > kPrime / 2; }
constexpr std::int64_t to_signed(Value a) {
  return is_negative(a) ? -static_cast<std::int64_t>(kPrime - a) : static_cast<std::int64_t>(a);
}
constexpr Value from_int(std::int64_t v) {
  const Value size = fold(v < 0 ? Value{0} - static_cast<Value>(v) : static_cast<Value>(v));
  return v < 0 ? negate(size) : size;
}
/// 1/a, and 0 for 0. Complexity: 70 multiplications.
Value inverse(Value a);
Value power(Value a, std::uint64_t exponent);
/// `arguments` are as many as the arity. Exact where the field allows; else random, fixed by `key`.
Value apply(Function function, const Value* arguments, std::uint64_t key);

}  // namespace soapstone::ops::field
