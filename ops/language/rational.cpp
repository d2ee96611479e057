// Fractions of 64-bit integers: from doubles, and sums and products as long as they fit.
#include "ops/language/rational.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

namespace soapstone::ops {
namespace {

__extension__ typedef __int128 Wide;

std::optional<Rational> reduced(Wide numerator, Wide denominator) {
  Wide a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) std::swap(a %= b, b);
  if (a > 1) {
    numerator /= a;
    denominator /= a;
  }
  constexpr Wide kLimit = std::numeric_limits<std::int64_t>::max();
  if (numerator > kLimit || numerator < -kLimit || denominator > kLimit) return std::nullopt;
  return Rational{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

/// A double whose exact fraction does not fit: its shortest decimal form, 1e-05 say, as a fraction.
Rational decimal_fraction(double value) {
  char text[40];
  const char* end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  Wide digits = 0;
  int exponent = 0;
  bool negative = false, after_point = false;
  for (const char* c = text; c != end; ++c) {
    if (*c == '-')
      negative = true;
    else if (*c == '.')
      after_point = true;
    else if (*c == 'e') {
      exponent += std::atoi(std::string(c + 1, end).c_str());
      break;
    } else
      digits = digits * 10 + (*c - '0'), exponent -= after_point ? 1 : 0;
  }
  Wide denominator = 1;
  for (; exponent < 0 && digits != 0; ++exponent) {  // drop digits that no fraction can hold
    if (denominator > std::numeric_limits<std::int64_t>::max() / 10)
      digits = (digits + 5) / 10;
    else
      denominator *= 10;
  }
  return *reduced(negative ? -digits : digits, denominator);
}

bool is_nearest(Rational fraction, double value) {
  return static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator) ==
         value;
}

/// The first convergent of the continued fraction of numerator / 2^shift that is nearest to that
/// double, or the last one that fits. Precondition: numerator > 0, shift < 120.
Rational convergent(std::int64_t numerator, int shift, double value) {
  constexpr Wide kLimit = std::numeric_limits<std::int64_t>::max();
  Wide a = numerator, b = static_cast<Wide>(1) << shift;
  Wide p = 1, q = 0, previous_p = 0, previous_q = 1;
  Rational best{0, 1};
  while (b != 0) {
    const Wide whole = a / b;
    a = std::exchange(b, a % b);
    if (q != 0 && whole > (kLimit - previous_q) / q) break;
    previous_p = std::exchange(p, whole * p + previous_p);
    previous_q = std::exchange(q, whole * q + previous_q);
    if (p > kLimit || q > kLimit) break;
    best = {static_cast<std::int64_t>(p), static_cast<std::int64_t>(q)};
    if (is_nearest(best, value)) break;
  }
  return best;
}

struct WideFraction {
  Wide numerator, denominator;
};

/// A positive double of few digits. Precondition: from 2^-62 to 2^62.
WideFraction exact_fraction(double value) {
  int exponent = 0;
  Wide numerator = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  for (; numerator % 2 == 0; numerator /= 2) ++exponent;
  const Wide power = Wide{1} << std::abs(exponent);
  return exponent >= 0 ? WideFraction{numerator * power, 1} : WideFraction{numerator, power};
}

/// The fraction of least denominator strictly between two positive ones; by their continued
/// fractions, which agree up to there. Precondition: low < high.
WideFraction simplest_between(WideFraction low, WideFraction high) {
  const Wide whole = low.numerator / low.denominator;
  if ((whole + 1) * high.denominator < high.numerator) return {whole + 1, 1};
  const WideFraction above{high.numerator - whole * high.denominator, high.denominator};
  const WideFraction below{low.numerator - whole * low.denominator, low.denominator};
  // The reciprocals change places; that of 0 is beyond everything.
  WideFraction rest{above.denominator / above.numerator + 1, 1};
  if (below.numerator != 0)
    rest = simplest_between({above.denominator, above.numerator},
                            {below.denominator, below.numerator});
  return {whole * rest.numerator + rest.denominator, rest.numerator};
}

}  // namespace

Rational canonical_constant(Rational value) {
  // Small fractions are the simplest near them: others are at least 1/(q·q') away.
  constexpr std::int64_t kSmallProduct = std::int64_t{1} << 22;
  if (value.denominator <= 1) return value;
  const std::int64_t size = std::abs(value.numerator);
  if (size < kSmallProduct / value.denominator) return value;
  const auto number =
      static_cast<float>(static_cast<double>(size) / static_cast<double>(value.denominator));
  if (!(number >= 0x1p-60f && number <= 0x1p60f)) return value;
  const double low = (double{std::nextafter(number, 0.0f)} + double{number}) / 2;
  const double high = (double{std::nextafter(number, 0x1p120f)} + double{number}) / 2;
  const WideFraction simple = simplest_between(exact_fraction(low), exact_fraction(high));
  const auto result =
      reduced(value.numerator < 0 ? -simple.numerator : simple.numerator, simple.denominator);
  return result.value_or(value);
}

std::optional<Rational> sum_of(Rational a, Rational b) {
  if (a.denominator == 0 || b.denominator == 0) return std::nullopt;
  return reduced(Wide{a.numerator} * b.denominator + Wide{b.numerator} * a.denominator,
                 Wide{a.denominator} * b.denominator);
}

std::optional<Rational> product_of(Rational a, Rational b) {
  if (a.denominator == 0 || b.denominator == 0) return std::nullopt;
  return reduced(Wide{a.numerator} * b.numerator, Wide{a.denominator} * b.denominator);
}

Rational to_rational(double value) {
  if (std::isnan(value)) return {0, 0};
  if (std::isinf(value)) return {value < 0 ? -1 : 1, 0};
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (std::fabs(value) >= 0x1p63) return {value < 0 ? -kMost : kMost, 1};
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // value = mantissa · 2^exponent
  auto numerator = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  exponent -= 53;
  if (numerator == 0) return {0, 1};
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(numerator));
  numerator /= std::int64_t{1} << zeros;
  exponent += zeros;
  if (exponent >= 0) return {numerator << exponent, 1};
  if (exponent >= -62) return {numerator, std::int64_t{1} << -exponent};
  const Rational decimal = decimal_fraction(value);
  constexpr int kMostShift = 119;
  if (is_nearest(decimal, value) || exponent < -kMostShift) return decimal;
  const Rational near = convergent(std::abs(numerator), -exponent, std::fabs(value));
  return {value < 0 ? -near.numerator : near.numerator, near.denominator};
}

}  // namespace soapstone::ops
