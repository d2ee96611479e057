// Constants that fp32 cannot tell apart are one; those that it can are two.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ops/language/rational.h"

namespace soapstone::ops {
namespace {

Rational canonical(double value) { return canonical_constant(to_rational(value)); }

TEST(CanonicalConstant, IsOneForAllWithTheSameFloat) {
  const double root = std::sqrt(0.5);
  EXPECT_EQ(canonical(0.7071067812), canonical(root));
  EXPECT_EQ(canonical(0.70710678), canonical(root));
  EXPECT_EQ(canonical(double{static_cast<float>(root)}), canonical(root));
  EXPECT_EQ(canonical(-0.70710678).numerator, -canonical(root).numerator);
  const float next = std::nextafter(static_cast<float>(root), 1.0f);
  EXPECT_NE(canonical(double{next}), canonical(root));
}

TEST(CanonicalConstant, IsTheFractionThatIsMeant) {
  EXPECT_EQ(canonical(double{1.0f / 3}), (Rational{1, 3}));
  EXPECT_EQ(canonical(double{0.1f}), (Rational{1, 10}));
  EXPECT_EQ(canonical(double{1e-5f}), (Rational{1, 100000}));
  EXPECT_EQ(canonical(double{-2.0f / 7}), (Rational{-2, 7}));
  EXPECT_EQ(canonical_constant({1, 9}), (Rational{1, 9}));
}

TEST(CanonicalConstant, KeepsIntegersAndWhatIsNoNumber) {
  for (const std::int64_t n : {0L, -3L, (1L << 24) + 1, (1L << 55) + 1})
    EXPECT_EQ(canonical_constant({n, 1}), (Rational{n, 1}));
  EXPECT_EQ(canonical(-INFINITY), (Rational{-1, 0}));
  EXPECT_EQ(canonical(std::nan("")), (Rational{0, 0}));
}

TEST(CanonicalConstant, HasTheFloatThatItStandsFor) {
  float value = 0x1p-40f;
  for (int k = 0; k < 2000; ++k, value *= 1.0271f) {
    const Rational r = canonical(double{value});
    EXPECT_EQ(static_cast<float>(double(r.numerator) / double(r.denominator)), value);
    EXPECT_EQ(canonical_constant(r), r);
  }
}

}  // namespace
}  // namespace soapstone::ops
