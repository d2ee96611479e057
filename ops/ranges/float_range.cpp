// See float_range.h. Bounds are computed in doubles: a bound that is off by a rounding error is off
// by less than any tensor of f32 shows.
#include "ops/ranges/float_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "core/graph/float_format.h"

namespace soapstone::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has(const FloatRange& range, Specials which) { return (range.specials & which) != 0; }
bool may_be_positive(const FloatRange& a) { return a.high > 0 || has(a, kPositiveInfinity); }
bool may_be_negative(const FloatRange& a) { return a.low < 0 || has(a, kNegativeInfinity); }

/// [f(low), f(high)] for a function that grows, with the specials kept.
template <class F>
FloatRange increasing(const FloatRange& a, const F& f, Specials kept) {
  FloatRange image = a.has_finite() ? FloatRange{f(a.low), f(a.high)} : no_values();
  image.specials = a.specials & kept;
  return image;
}

/// A function that grows to finite limits at both ends.
template <class F>
FloatRange saturating(const FloatRange& a, const F& f, double lowest, double highest) {
  FloatRange image = increasing(a, f, kNan);
  if (has(a, kNegativeInfinity)) image = join(image, point(lowest));
  if (has(a, kPositiveInfinity)) image = join(image, point(highest));
  return image;
}

FloatRange exponential(const FloatRange& a) {
  FloatRange image = increasing(
      a, [](double x) { return std::exp(x); }, kNan | kPositiveInfinity);
  return has(a, kNegativeInfinity) ? join(image, point(0)) : image;
}

/// log(x + shift), shift 0 or 1.
FloatRange logarithm(const FloatRange& a, double shift) {
  const double edge = -shift;
  FloatRange image = no_values();
  if (a.high > edge) {
    const auto f = [&](double x) { return shift == 0 ? std::log(x) : std::log1p(x); };
    const double least = std::numeric_limits<double>::denorm_min();
    image = {f(std::max(a.low, edge + (shift == 0 ? least : 0x1p-52))), f(a.high)};
  }
  image.specials = a.specials & (kNan | kPositiveInfinity);
  if (a.has_finite() && a.low < edge) image.specials |= kNan;
  if (a.has_finite() && a.low <= edge && a.high >= edge) image.specials |= kNegativeInfinity;
  if (has(a, kNegativeInfinity)) image.specials |= kNan;
  return image;
}

FloatRange square_root(const FloatRange& a) {
  FloatRange image = a.high >= 0 && a.has_finite()
                         ? FloatRange{std::sqrt(std::max(a.low, 0.0)), std::sqrt(a.high)}
                         : no_values();
  image.specials = a.specials & (kNan | kPositiveInfinity);
  if ((a.has_finite() && a.low < 0) || has(a, kNegativeInfinity)) image.specials |= kNan;
  return image;
}

FloatRange absolute(const FloatRange& a) {
  FloatRange image = no_values();
  if (a.has_finite()) {
    image.high = std::max(std::abs(a.low), std::abs(a.high));
    image.low = a.may_be_zero() ? 0 : std::min(std::abs(a.low), std::abs(a.high));
  }
  image.specials = (a.specials & kNan) | (has(a, kInfinities) ? kPositiveInfinity : 0);
  return image;
}

FloatRange periodic(const FloatRange& a) {
  FloatRange image = a.has_finite() ? FloatRange{-1, 1} : no_values();
  image.specials = a.specials == 0 ? 0 : kNan;
  return image;
}

bool is_integer(double x) { return x == std::floor(x); }
bool is_even(double x) { return is_integer(x / 2); }

/// x^c for one exponent c.
FloatRange power(const FloatRange& a, double c) {
  if (c == 0) return point(1);
  FloatRange base = a;
  Specials made = 0;
  if (!is_integer(c)) {  // A root or its inverse: of negative numbers there is none.
    if (may_be_negative(a)) made |= kNan;
    base = larger_of(a, point(0));
  } else if (is_even(c)) {
    base = absolute(a);
  }
  const auto f = [&](double x) { return std::pow(x, c); };
  FloatRange image = no_values();
  if (c > 0) {
    image = increasing(base, f, kAllSpecials);
  } else {
    if (base.has_finite() && !base.may_be_zero()) {
      image = {std::min(f(base.low), f(base.high)), std::max(f(base.low), f(base.high))};
    } else if (base.has_finite()) {
      image = {base.low < 0 ? -kInfinity : 0, kInfinity};
      made |= kInfinities;
    }
    image.specials = base.specials & kNan;
    if (has(base, kInfinities)) image = join(image, point(0));
  }
  image.specials |= made;
  return image;
}

FloatRange any_power(const FloatRange& a, const FloatRange& exponent) {
  if (exponent.is_point()) return power(a, exponent.low);
  // The base e^… of a growing exponent is the usual case; nothing more is said of others.
  FloatRange image{may_be_negative(a) ? -kInfinity : 0, kInfinity, kPositiveInfinity};
  if (may_be_negative(a)) image.specials = kAllSpecials;
  image.specials |= (a.specials | exponent.specials) & kNan;
  return image;
}

FloatRange truth() { return {0, 1}; }

}  // namespace

FloatRange no_values() { return {kInfinity, -kInfinity}; }

FloatRange point(double value) {
  if (std::isfinite(value)) return {value, value};
  FloatRange range = no_values();
  range.specials = std::isnan(value) ? kNan : value > 0 ? kPositiveInfinity : kNegativeInfinity;
  return range;
}

Magnitudes magnitudes_of(core::DataType type) {
  const auto format = core::format_of(core::is_floating(type) ? type : core::DataType::kFloat64);
  return {format.largest(), format.smallest()};
}

FloatRange join(const FloatRange& a, const FloatRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high),
          static_cast<Specials>(a.specials | b.specials)};
}

FloatRange rounded(FloatRange range, const Magnitudes& type) {
  // Half a unit in the last place beyond the largest number still rounds to it; −3.4e38 plus a
  // score, as masks have it, is finite. The unit of f16 is the coarsest in relation.
  const double overflow = type.largest * (1 + 0x1p-25);
  if (range.has_finite()) {
    if (range.high > overflow) range.specials |= kPositiveInfinity;
    if (range.low < -overflow) range.specials |= kNegativeInfinity;
    range.low = std::clamp(range.low, -type.largest, type.largest);
    range.high = std::clamp(range.high, -type.largest, type.largest);
    if (range.low > 0 && range.low < type.smallest) range.low = 0;
    if (range.high < 0 && range.high > -type.smallest) range.high = 0;
  }
  return range;
}

FloatRange negated(const FloatRange& a) {
  FloatRange result{-a.high, -a.low, static_cast<Specials>(a.specials & kNan)};
  if (has(a, kPositiveInfinity)) result.specials |= kNegativeInfinity;
  if (has(a, kNegativeInfinity)) result.specials |= kPositiveInfinity;
  return result;
}

FloatRange sum_of(const FloatRange& a, const FloatRange& b) {
  FloatRange result =
      a.has_finite() && b.has_finite() ? FloatRange{a.low + b.low, a.high + b.high} : no_values();
  result.specials = a.specials | b.specials;
  const bool cancel = (has(a, kPositiveInfinity) && has(b, kNegativeInfinity)) ||
                      (has(a, kNegativeInfinity) && has(b, kPositiveInfinity));
  if (cancel) result.specials |= kNan;
  return result;
}

FloatRange product_of(const FloatRange& a, const FloatRange& b) {
  FloatRange result = no_values();
  if (a.has_finite() && b.has_finite()) {
    const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    result = {*std::ranges::min_element(products), *std::ranges::max_element(products)};
  }
  result.specials = (a.specials | b.specials) & kNan;
  if ((has(a, kInfinities) && b.has_finite() && b.may_be_zero()) ||
      (has(b, kInfinities) && a.has_finite() && a.may_be_zero()))
    result.specials |= kNan;
  if (has(a, kInfinities) || has(b, kInfinities)) {
    if ((may_be_positive(a) && may_be_positive(b)) || (may_be_negative(a) && may_be_negative(b)))
      result.specials |= kPositiveInfinity;
    if ((may_be_positive(a) && may_be_negative(b)) || (may_be_negative(a) && may_be_positive(b)))
      result.specials |= kNegativeInfinity;
  }
  return result;
}

FloatRange square_of(const FloatRange& a) {
  const FloatRange size = absolute(a);
  FloatRange result =
      size.has_finite() ? FloatRange{size.low * size.low, size.high * size.high} : no_values();
  result.specials = size.specials;
  return result;
}

FloatRange inverse_of(const FloatRange& a, const Magnitudes& type) {
  FloatRange result = no_values();
  result.specials = a.specials & kNan;
  if (a.has_finite() && a.may_be_zero()) {
    result = {a.low < 0 ? -type.largest : 0, a.high > 0 ? type.largest : 0, result.specials};
    result.specials |= kInfinities;  // There are two zeros.
  } else if (a.has_finite()) {
    result.low = 1 / a.high;
    result.high = 1 / a.low;
  }
  return has(a, kInfinities) ? join(result, point(0)) : result;
}

FloatRange repeated_sum(const FloatRange& a, double fewest, double most) {
  FloatRange result = a;
  if (a.has_finite()) {
    result.low = a.low * (a.low < 0 ? most : fewest);
    result.high = a.high * (a.high > 0 ? most : fewest);
  } else if (fewest == 0) {
    result = join(result, point(0));
  }
  if (most > 1 && (a.specials & kInfinities) == kInfinities) result.specials |= kNan;
  return result;
}

FloatRange larger_of(const FloatRange& a, const FloatRange& b) {
  FloatRange result{std::max(a.low, b.low), std::max(a.high, b.high)};
  // Where one side has no finite value, or may be −∞, the other side is the larger one.
  if (!a.has_finite() || has(a, kNegativeInfinity)) result.low = b.low;
  if (!b.has_finite() || has(b, kNegativeInfinity)) result.low = std::min(a.low, result.low);
  if (has(a, kNegativeInfinity) && has(b, kNegativeInfinity)) result.low = std::min(a.low, b.low);
  result.specials = (a.specials | b.specials) & (kNan | kPositiveInfinity);
  if (has(a, kNegativeInfinity) && has(b, kNegativeInfinity)) result.specials |= kNegativeInfinity;
  return result;
}

FloatRange image_of(Function function, std::span<const FloatRange> arguments) {
  const FloatRange& a = arguments[0];
  switch (function) {
  case Function::kRelu:
    return larger_of(a, point(0));
  case Function::kExp:
    return exponential(a);
  case Function::kLog:
    return logarithm(a, 0);
  case Function::kLog1p:
    return logarithm(a, 1);
  case Function::kSqrt:
    return square_root(a);
  case Function::kTanh:
    return saturating(
        a, [](double x) { return std::tanh(x); }, -1, 1);
  case Function::kErf:
    return saturating(
        a, [](double x) { return std::erf(x); }, -1, 1);
  case Function::kSigmoid:
    return saturating(
        a, [](double x) { return 1 / (1 + std::exp(-x)); }, 0, 1);
  case Function::kAbs:
    return absolute(a);
  case Function::kFloor:
    return increasing(
        a, [](double x) { return std::floor(x); }, kAllSpecials);
  case Function::kCeil:
    return increasing(
        a, [](double x) { return std::ceil(x); }, kAllSpecials);
  case Function::kRound:
    return increasing(
        a, [](double x) { return std::nearbyint(x); }, kAllSpecials);
  case Function::kTruncate: {
    FloatRange image = increasing(
        a, [](double x) { return std::trunc(x); }, 0);
    // Nothing is said of the integer that a special becomes.
    return a.specials == 0 ? image : join(image, {-0x1p63, 0x1p63});
  }
  case Function::kSin:
  case Function::kCos:
    return periodic(a);
  case Function::kPow:
    return any_power(a, arguments[1]);
  case Function::kSelect:
    return join(arguments[1], arguments[2]);
  case Function::kLess:
  case Function::kEqual:
  case Function::kIsZero:
  case Function::kLessOrEqual:
  case Function::kIsNan:
  case Function::kIsInfinite:
    return truth();
  }
  CHECK(false, "unreachable");
}

Specials absorbed_by(Function function, std::size_t argument,
                     std::span<const FloatRange> arguments) {
  switch (function) {
  case Function::kRelu:
  case Function::kExp:
    return kNegativeInfinity;
  case Function::kTanh:
  case Function::kErf:
  case Function::kSigmoid:
    return kInfinities;
  case Function::kAbs:
  case Function::kLog:
  case Function::kLog1p:
  case Function::kSqrt:
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kSin:
  case Function::kCos:
    return 0;
  case Function::kPow:
    if (argument == 0 && arguments[1].is_point() && arguments[1].low != 0)
      return arguments[1].low > 0 ? 0 : kInfinities;
    return kAllSpecials;
  case Function::kSelect:
  case Function::kTruncate:
  case Function::kLess:
  case Function::kEqual:
  case Function::kIsZero:
  case Function::kLessOrEqual:
  case Function::kIsNan:
  case Function::kIsInfinite:
    return kAllSpecials;
  }
  CHECK(false, "unreachable");
}

namespace {

template <class T>
FloatRange range_of_elements(std::span<const T> elements) {
  FloatRange range = no_values();
  for (const T element : elements) {
    const double value = static_cast<double>(element);
    if (std::isfinite(value)) {
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    } else {
      range.specials |= point(value).specials;
    }
  }
  return range;
}

}  // namespace

FloatRange range_of(const core::Literal& literal) {
  switch (literal.data_type()) {
  case core::DataType::kFloat32:
    return range_of_elements(literal.as<float>());
  case core::DataType::kString:
  case core::DataType::kOther:
    return {-kInfinity, kInfinity};
  default: {
    const std::vector<double> values = literal.to_doubles();
    return range_of_elements(std::span<const double>(values));
  }
  }
}

}  // namespace soapstone::ops
