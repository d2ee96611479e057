// Exact fractions of 64-bit numbers. Overflow ends the proof.
#pragma once

#include <compare>
#include <cstdint>
#include <numeric>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

class Fraction {
 public:
  Fraction(std::int64_t value = 0) : numerator_(value) {}  // a number is a fraction
  Fraction(std::int64_t numerator, std::int64_t denominator)
      : Fraction(reduced(numerator, denominator)) {}

  std::int64_t numerator() const { return numerator_; }
  std::int64_t denominator() const { return denominator_; }
  bool is_integer() const { return denominator_ == 1; }
  bool is_zero() const { return numerator_ == 0; }
  bool is_even() const { return is_integer() && numerator_ % 2 == 0; }
  int sign() const { return numerator_ > 0 ? 1 : numerator_ < 0 ? -1 : 0; }

  friend Fraction operator+(const Fraction& a, const Fraction& b) {
    return reduced(wide(a.numerator_) * b.denominator_ + wide(b.numerator_) * a.denominator_,
                   wide(a.denominator_) * b.denominator_);
  }
  friend Fraction operator*(const Fraction& a, const Fraction& b) {
    return reduced(wide(a.numerator_) * b.numerator_, wide(a.denominator_) * b.denominator_);
  }
  friend Fraction operator/(const Fraction& a, const Fraction& b) { return a * b.inverse(); }
  friend Fraction operator-(const Fraction& a, const Fraction& b) { return a + -b; }
  Fraction operator-() const { return *this * Fraction(-1); }
  Fraction inverse() const { return Fraction(denominator_, numerator_); }
  Fraction magnitude() const { return numerator_ < 0 ? -*this : *this; }
  /// Precondition: not 0 to a negative power.
  Fraction power(std::int64_t exponent) const {
    Fraction base = exponent < 0 ? inverse() : *this;
    Fraction result = 1;
    for (std::int64_t k = exponent < 0 ? -exponent : exponent; k > 0; --k) result = result * base;
    return result;
  }
  bool operator==(const Fraction&) const = default;
  std::strong_ordering operator<=>(const Fraction& other) const {
    return wide(numerator_) * other.denominator_ <=> wide(other.numerator_) * denominator_;
  }

 private:
  __extension__ using Wide = __int128;
  static Wide wide(std::int64_t value) { return value; }
  static Fraction reduced(Wide numerator, Wide denominator) {
    if (denominator == 0) throw OutOfBudget{"division by zero"};
    Wide a = numerator < 0 ? -numerator : numerator;
    Wide b = denominator < 0 ? -denominator : denominator;
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    const Wide divisor = denominator < 0 ? -a : a;
    constexpr Wide kLimit = static_cast<Wide>(1) << 62;
    const Wide n = divisor == 0 ? 0 : numerator / divisor;
    const Wide d = divisor == 0 ? 1 : denominator / divisor;
    if (n >= kLimit || n <= -kLimit || d >= kLimit) throw OutOfBudget{"fraction overflow"};
    Fraction result;
    result.numerator_ = static_cast<std::int64_t>(n);
    result.denominator_ = static_cast<std::int64_t>(d);
    return result;
  }

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;  // positive, no common factor with the numerator
};

}  // namespace soapstone::verifier
