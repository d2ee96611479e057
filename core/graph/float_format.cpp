// See float_format.h.
#include "core/graph/float_format.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/check.h"

namespace soapstone::core {
namespace {

/// To that many significant bits, ties to even: a carry moves the exponent up, as it has to.
/// Precondition: finite, no subnormal double.
double to_digits(double value, int digits) {
  const int dropped = 53 - digits;
  auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t odd = (bits >> dropped) & 1U;
  bits += (std::uint64_t{1} << (dropped - 1)) - 1 + odd;
  return std::bit_cast<double>(bits & ~((std::uint64_t{1} << dropped) - 1));
}

/// 2^exponent. Precondition: a normal double. std::ldexp is a call, and these are asked for with
/// every number that is rounded.
double power_of_two(int exponent) {
  constexpr int kBias = 1023, kMantissa = 52;
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kBias) << kMantissa);
}

/// To a multiple of 2^exponent. Scaling by a power of two is exact, so there is one rounding.
double to_multiple(double value, int exponent) {
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

}  // namespace

double FloatFormat::smallest() const { return std::ldexp(1.0, least_exponent - digits + 1); }
double FloatFormat::smallest_normal() const { return power_of_two(least_exponent); }
double FloatFormat::largest() const {
  return (2 - power_of_two(1 - digits)) * power_of_two(most_exponent);
}

FloatFormat format_of(DataType type) {
  switch (type) {
  case DataType::kFloat64:
    return {};
  case DataType::kFloat32:
    return {24, -126, 127};
  case DataType::kFloat16:
    return {11, -14, 15};
  case DataType::kBFloat16:
    return {8, -126, 127};
  default:
    CHECK(false, "a floating type is needed");
    return {};
  }
}

double rounded_to(const FloatFormat& format, double value) {
  if (format.digits == 53 || value == 0 || !std::isfinite(value)) return value;
  if (std::fabs(value) < format.smallest_normal())
    return to_multiple(value, format.least_exponent - format.digits + 1);
  const double nearest = to_digits(value, format.digits);
  if (std::fabs(nearest) <= format.largest()) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

double rounded_to_digits(const FloatFormat& format, double value) {
  if (format.digits == 53 || value == 0 || !std::isfinite(value)) return value;
  // Subnormal doubles have few digits already.
  if (std::fabs(value) < std::numeric_limits<double>::min()) return value;
  const double nearest = to_digits(value, format.digits);
  return std::isfinite(nearest) ? nearest : value;
}

}  // namespace soapstone::core
