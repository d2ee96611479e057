// f16 and bf16 by integer arithmetic on the bits of a float.
#include "core/base/float16.h"

#include <bit>

namespace soapstone::core {
namespace {

/// Drops the lowest `count` (1 to 31) bits, rounding to nearest, ties to even.
std::uint32_t shift_rounding(std::uint32_t value, int count) {
  const std::uint32_t half = 1u << (count - 1);
  const std::uint32_t odd = (value >> count) & 1u;
  return (value + half - 1u + odd) >> count;
}

}  // namespace

float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal: exact
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

std::uint16_t f16_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result;
  if (magnitude > 0x7f800000u) {  // NaN; its lowest fraction bits are lost, so set the quiet bit
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14 and more: normal; a carry moves the exponent up
    result = shift_rounding(magnitude - (112u << 23), 13);
  } else if (magnitude >= 0x33000000u) {  // 2^-25 and more: subnormal
    const int exponent = static_cast<int>(magnitude >> 23);
    result = shift_rounding((magnitude & 0x7fffffu) | 0x800000u, 126 - exponent);
  } else {
    result = 0;
  }
  return static_cast<std::uint16_t>(sign | result);
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t bf16_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>(shift_rounding(bits & 0x7fffffffu, 16) |
                                    ((bits >> 16) & 0x8000u));
}

}  // namespace soapstone::core
