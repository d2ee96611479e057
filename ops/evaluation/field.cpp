// Inverses, constants and functions of the prime field. A function that the field cannot have is
// replaced by a random one that keeps its zero, its symmetry, its sign and its idempotence, so that
// a fingerprint separates what is different and joins what these properties prove equal.
#include "ops/evaluation/field.h"

#include <bit>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "ops/language/rational.h"

namespace soapstone::ops {
namespace field {
namespace {

Value square(Value a, int times) {
  for (; times > 0; --times) a = multiply(a, a);
  return a;
}

Value magnitude(Value a) { return is_negative(a) ? negate(a) : a; }

/// A random map of the argument. The kinds of functions differ, the symmetries do not.
Value random_map(Function function, Value x, std::uint64_t key) {
  const FunctionProperties& p = properties(function);
  if (p.zero_preserving && x == 0) return 0;
  const Value argument = p.odd || p.even ? magnitude(x) : x;
  const auto seed = core::hash_combine(key, static_cast<std::uint64_t>(function));
  Value result = fold(core::hash_combine(seed, argument));
  if (p.non_negative) result = magnitude(result);
  return p.odd && is_negative(x) ? negate(result) : result;
}

/// floor, ceil, round, truncate: integers up to 2^32 are what they are, and every other element of
/// the field stands for a fraction, which goes to some such integer.
Value random_rounding(Function function, Value x, std::uint64_t key) {
  const Value size = magnitude(x);
  if (size < (Value{1} << 32)) return x;
  const Value random = random_map(function, x, key);
  return is_negative(random) ? negate(magnitude(random) >> 28) : random >> 28;
}

Value random_power(Value x, Value y, std::uint64_t key) {
  constexpr std::int64_t kExactUpTo = 64;
  const std::int64_t exponent = to_signed(y);
  if (exponent >= 0 && exponent <= kExactUpTo)
    return power(x, static_cast<std::uint64_t>(exponent));
  if (exponent < 0 && exponent >= -kExactUpTo)
    return inverse(power(x, static_cast<std::uint64_t>(-exponent)));
  return random_map(Function::kPow, fold(core::hash_combine(x, y)), key);
}

}  // namespace

Value power(Value a, std::uint64_t exponent) {
  Value result = 1;
  for (; exponent != 0; exponent >>= 1, a = multiply(a, a))
    if (exponent & 1) result = multiply(result, a);
  return result;
}

Value inverse(Value a) {
  // a^(p−2) with p − 2 = 4·(2^59 − 1) + 1; `e<k>` is a^(2^k − 1).
  const Value e2 = multiply(square(a, 1), a), e4 = multiply(square(e2, 2), e2);
  const Value e8 = multiply(square(e4, 4), e4), e16 = multiply(square(e8, 8), e8);
  const Value e32 = multiply(square(e16, 16), e16), e48 = multiply(square(e32, 16), e16);
  const Value e56 = multiply(square(e48, 8), e8), e58 = multiply(square(e56, 2), e2);
  const Value e59 = multiply(square(e58, 1), a);
  return multiply(square(e59, 2), a);
}

Value apply(Function function, const Value* a, std::uint64_t key) {
  const Value x = a[0];
  switch (function) {
  case Function::kRelu:
    return is_negative(x) ? 0 : x;
  case Function::kAbs:
    return magnitude(x);
  case Function::kSelect:
    return x != 0 ? a[1] : a[2];
  case Function::kLess:
    return to_signed(x) < to_signed(a[1]) ? 1 : 0;
  case Function::kLessOrEqual:
    return to_signed(x) <= to_signed(a[1]) ? 1 : 0;
  case Function::kEqual:
    return x == a[1] ? 1 : 0;
  case Function::kIsZero:
    return x == 0 ? 1 : 0;
  case Function::kIsNan:
  case Function::kIsInfinite:  // Some elements of the field stand for such values.
    return random_map(function, x, key) & 1;
  case Function::kPow:
    return random_power(x, a[1], key);
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kTruncate:
    return random_rounding(function, x, key);
  case Function::kLog1p:
    return x == 0 ? 0 : random_map(Function::kLog, add(x, 1), key);
  case Function::kExp:
  case Function::kLog:
  case Function::kSqrt:
  case Function::kTanh:
  case Function::kSigmoid:
  case Function::kErf:
  case Function::kSin:
  case Function::kCos:
    return random_map(function, x, key);
  }
  CHECK(false, "unreachable");
}

}  // namespace field

std::uint64_t field_from_rational(Rational value) {
  if (value.denominator == 0)  // ±∞ are the ends of the order; NaN is some fixed element
    return value.numerator > 0   ? field::kPrime / 2
           : value.numerator < 0 ? field::kPrime / 2 + 1
                                 : core::hash_text("nan") >> 4;
  const auto numerator = field::from_int(value.numerator);
  const auto denominator = static_cast<std::uint64_t>(value.denominator);
  if (std::has_single_bit(denominator)) {  // 2^61 = 1: dividing by 2^k is multiplying by 2^(61−k)
    const int k = std::countr_zero(denominator) % 61;
    return field::multiply(numerator, field::Value{1} << ((61 - k) % 61));
  }
  return field::multiply(numerator, field::inverse(field::from_int(value.denominator)));
}

std::vector<Field::Value> to_field(const core::Literal& literal) {
  std::vector<Field::Value> values;
  values.reserve(static_cast<std::size_t>(literal.count()));
  if (const auto ints = literal.to_ints()) {
    for (std::int64_t v : *ints) values.push_back(field::from_int(v));
  } else {
    const bool exact = literal.data_type() == core::DataType::kFloat64;
    for (double v : literal.to_doubles()) {
      const Rational r = to_rational(v);
      values.push_back(field_from_rational(exact ? r : canonical_constant(r)));
    }
  }
  return values;
}

}  // namespace soapstone::ops
