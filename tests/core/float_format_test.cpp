// Rounding a double to the numbers of a floating type, against the conversions of bits.
#include "core/graph/float_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/float16.h"

namespace soapstone::core {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double half(double value) { return rounded_to(format_of(DataType::kFloat16), value); }
double brain(double value) { return rounded_to(format_of(DataType::kBFloat16), value); }
double single(double value) { return rounded_to(format_of(DataType::kFloat32), value); }

TEST(FloatFormat, EveryNumberOfSixteenBitsStaysAndMiddlesGoToTheEvenOne) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = float_from_f16(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(half(low), low) << bits;
    ASSERT_EQ(half(-low), -low) << bits;
    const double high =
        bits + 1 < 0x7c00
            ? static_cast<double>(float_from_f16(static_cast<std::uint16_t>(bits + 1)))
            : 65536;
    const double even = bits % 2 == 0 ? low : (bits + 1 < 0x7c00 ? high : kInfinity);
    ASSERT_EQ(half((low + high) / 2), even) << bits;
    ASSERT_EQ(half(std::nextafter((low + high) / 2, 0)), low) << bits;
  }
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const double number = float_from_bf16(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(brain(number), number) << bits;
  }
}

TEST(FloatFormat, RoundsOnceAndNotByWayOfFloat) {
  // Rounded to a float first, it is a tie, which goes down.
  const double value = 1 + 0x1p-11 + 0x1p-30;
  EXPECT_EQ(half(value), 1 + 0x1p-10);
  EXPECT_EQ(float_from_f16(f16_from_float(static_cast<float>(value))), 1);
}

TEST(FloatFormat, AgreesWithFloat) {
  for (double value : {1.0 / 3, 1e-45, 7e-46, 1.1754943e-38, 1e-40, 3.4028235e38, 123456789.0}) {
    EXPECT_EQ(single(value), static_cast<double>(static_cast<float>(value))) << value;
    EXPECT_EQ(single(-value), -single(value));
  }
}

TEST(FloatFormat, Ends) {
  const FloatFormat f16 = format_of(DataType::kFloat16);
  EXPECT_EQ(f16.largest(), 65504);
  EXPECT_EQ(f16.smallest_normal(), 0x1p-14);
  EXPECT_EQ(f16.smallest(), 0x1p-24);
  EXPECT_EQ(half(65519.99), 65504);
  EXPECT_EQ(half(65520), kInfinity);
  EXPECT_EQ(half(-1e300), -kInfinity);
  EXPECT_EQ(half(0x1p-25), 0);
  EXPECT_TRUE(std::signbit(half(-0x1p-26)));
  EXPECT_TRUE(std::isnan(half(std::nan(""))));
  EXPECT_EQ(format_of(DataType::kFloat64).largest(), std::numeric_limits<double>::max());
  EXPECT_EQ(format_of(DataType::kFloat32).largest(), std::numeric_limits<float>::max());
}

TEST(FloatFormat, WithoutLimitsOnlyDigitsAreRounded) {
  const FloatFormat f16 = format_of(DataType::kFloat16);
  EXPECT_EQ(rounded_to_digits(f16, 1e9), std::ldexp(std::nearbyint(std::ldexp(1e9, -19)), 19));
  EXPECT_EQ(rounded_to_digits(f16, 0x1p-40), 0x1p-40);
  EXPECT_EQ(rounded_to_digits(f16, 1.0 / 3), half(1.0 / 3));
}

}  // namespace
}  // namespace soapstone::core
