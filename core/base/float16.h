// Conversions of the two 16-bit floating types, which C++20 does not have, by integer arithmetic on
// the bits of a float. Bits go in and out. They are inline, so that loops over them become vector
// instructions.
#pragma once

#include <bit>
#include <cstdint>

namespace soapstone::core {

/// IEEE binary16.
inline float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + (112u << 23);
  // Subnormal: the fraction behind 2^-14, less 2^-14. It is exact.
  constexpr std::uint32_t kLeast = 113u << 23;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(kLeast + (magnitude << 13)) - std::bit_cast<float>(kLeast));
  const std::uint32_t unbounded = 0x7f800000u | ((magnitude & 0x3ffu) << 13);  // infinity or NaN
  std::uint32_t value = magnitude >= 0x400u ? normal : subnormal;
  value = magnitude >= 0x7c00u ? unbounded : value;
  return std::bit_cast<float>(sign | value);
}

/// Rounds to nearest, ties to even; overflow gives infinity; a NaN stays one.
inline std::uint16_t f16_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal: drop 13 bits; a carry moves the exponent up.
  const std::uint32_t normal =
      ((magnitude - (112u << 23)) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Below 2^-14: adding 0.5 rounds to multiples of 2^-24, which are the fraction bits of the sum.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  // The lowest fraction bits of a NaN are lost, so the quiet bit is set.
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  std::uint32_t result = magnitude >= 0x38800000u ? normal : small;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and more round to infinity
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<std::uint16_t>(sign | result);
}

/// bfloat16: the upper half of a float.
inline float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even; a NaN stays one.
inline std::uint16_t bf16_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
}

}  // namespace soapstone::core
