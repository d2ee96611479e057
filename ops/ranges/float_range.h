// Ranges of floating-point values: bounds of the finite ones, and whether NaN or an infinity may be
// among them. Interval arithmetic in which a division by zero, an overflow or a root of a negative
// number shows.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/literal.h"
#include "core/graph/tensor_type.h"
#include "ops/language/functions.h"

namespace soapstone::ops {

/// A set of values that are not finite.
using Specials = std::uint8_t;
inline constexpr Specials kNan = 1, kPositiveInfinity = 2, kNegativeInfinity = 4,
                          kInfinities = kPositiveInfinity | kNegativeInfinity,
                          kAllSpecials = kNan | kInfinities;

struct FloatRange {
  double low = 0, high = 0;  ///< Bounds of the finite values; low > high: there are none.
  Specials specials = 0;

  bool has_finite() const { return low <= high; }
  bool may_be_zero() const { return low <= 0 && high >= 0; }
  bool is_point() const { return low == high && specials == 0; }
  bool operator==(const FloatRange&) const = default;
};

/// No value at all: the neutral element of join().
FloatRange no_values();
FloatRange point(double value);

/// The magnitudes that a type can hold: beyond the largest a result is infinite, below the smallest
/// it is 0.
struct Magnitudes {
  double largest = 0, smallest = 0;
};
/// Those of f64 for a type that is not floating.
Magnitudes magnitudes_of(core::DataType type);

/// All values of either.
FloatRange join(const FloatRange& a, const FloatRange& b);
/// What rounding to a type with these magnitudes makes of the values.
FloatRange rounded(FloatRange range, const Magnitudes& type);
FloatRange negated(const FloatRange& a);
FloatRange sum_of(const FloatRange& a, const FloatRange& b);
FloatRange product_of(const FloatRange& a, const FloatRange& b);
FloatRange square_of(const FloatRange& a);
FloatRange inverse_of(const FloatRange& a, const Magnitudes& type);
/// The sum of at least `fewest` and at most `most` values of the range.
FloatRange repeated_sum(const FloatRange& a, double fewest, double most);
/// The larger of the two values.
FloatRange larger_of(const FloatRange& a, const FloatRange& b);
/// The values of a scalar function. Precondition: as many arguments as its arity.
FloatRange image_of(Function function, std::span<const FloatRange> arguments);

/// Of one argument of the function, the specials that may become a finite result: tanh(∞) = 1,
/// pow(NaN, 0) = 1, and whatever is compared. NaN + 1 is NaN: sums absorb nothing.
Specials absorbed_by(Function function, std::size_t argument,
                     std::span<const FloatRange> arguments);

/// The range of the elements. Of texts and unknown types: nothing is said, so all numbers.
/// Complexity: linear.
FloatRange range_of(const core::Literal& literal);

}  // namespace soapstone::ops
