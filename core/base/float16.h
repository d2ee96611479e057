// Conversions of the two 16-bit floating types, which C++20 does not have. Bits go in and out.
#pragma once

#include <cstdint>

namespace soapstone::core {

/// IEEE binary16.
float float_from_f16(std::uint16_t bits);
/// Rounds to nearest, ties to even; overflow gives infinity; a NaN stays one.
std::uint16_t f16_from_float(float value);

/// bfloat16: the upper half of a float.
float float_from_bf16(std::uint16_t bits);
/// Rounds to nearest, ties to even; a NaN stays one.
std::uint16_t bf16_from_float(float value);

}  // namespace soapstone::core
