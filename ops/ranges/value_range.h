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

struct ValueRange {
  double low = 0, high = 0;  ///< Bounds of the finite values; low > high: there are none.
  Specials specials = 0;

  bool has_finite() const { return low <= high; }
  bool may_be_zero() const { return low <= 0 && high >= 0; }
  bool is_point() const { return low == high && specials == 0; }
  bool operator==(const ValueRange&) const = default;
};

/// No value at all: the neutral element of join().
ValueRange no_values();
ValueRange point(double value);

/// The magnitudes that a type can hold: beyond the largest a result is infinite, below the smallest
/// it is 0.
struct Magnitudes {
  double largest = 0, smallest = 0;
};
/// Those of f64 for a type that is not floating.
Magnitudes magnitudes_of(core::DataType type);

/// All values of either.
ValueRange join(const ValueRange& a, const ValueRange& b);
/// What rounding to a type with these magnitudes makes of the values.
ValueRange rounded(ValueRange range, const Magnitudes& type);
ValueRange negated(const ValueRange& a);
ValueRange sum_of(const ValueRange& a, const ValueRange& b);
ValueRange product_of(const ValueRange& a, const ValueRange& b);
ValueRange square_of(const ValueRange& a);
ValueRange inverse_of(const ValueRange& a, const Magnitudes& type);
/// The sum of at least `fewest` and at most `most` values of the range.
ValueRange repeated_sum(const ValueRange& a, double fewest, double most);
/// The larger of the two values.
ValueRange larger_of(const ValueRange& a, const ValueRange& b);
/// The values of a scalar function. Precondition: as many arguments as its arity.
ValueRange image_of(Function function, std::span<const ValueRange> arguments);

/// Of one argument of the function, the specials that may become a finite result: tanh(∞) = 1,
/// pow(NaN, 0) = 1, and whatever is compared. NaN + 1 is NaN: sums absorb nothing.
Specials absorbed_by(Function function, std::size_t argument,
                     std::span<const ValueRange> arguments);

/// The range of the elements. Of texts and unknown types: nothing is said, so all numbers.
/// Complexity: linear.
ValueRange range_of(const core::Literal& literal);

}  // namespace soapstone::ops
