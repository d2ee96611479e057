// The floating types as sets of numbers: how far they reach, and rounding a double to the nearest
// number of one of them in a single step.
#pragma once

#include "core/graph/tensor_type.h"

namespace soapstone::core {

/// Largest and smallest numbers of a floating type, as exponents of two.
struct FloatFormat {
  int digits = 53;             ///< Significant bits of a normal number.
  int least_exponent = -1022;  ///< The smallest normal number is 2^least_exponent.
  int most_exponent = 1023;    ///< All numbers are below 2^(most_exponent + 1).

  /// The smallest positive number.
  double smallest() const;
  double smallest_normal() const;
  double largest() const;
};

/// Precondition: a floating type.
FloatFormat format_of(DataType type);

/// The nearest number of the format, ties to even. A value beyond the largest number becomes
/// infinite, one below the smallest becomes a zero of its sign; a NaN stays one.
double rounded_to(const FloatFormat& format, double value);
/// The same if exponents were not limited: what is left of the value is its precision.
double rounded_to_digits(const FloatFormat& format, double value);

}  // namespace soapstone::core
