// Conversions of 16-bit floats: every number there and back, and what lies between two of them.
#include "core/base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace soapstone::core {
namespace {

using FromBits = float (*)(std::uint16_t);
using ToBits = std::uint16_t (*)(float);

/// `infinity`: its bits. The middle between two neighbors goes to the even one, and so does that
/// between the largest and what would come next.
void expect_nearest(FromBits from_bits, ToBits to_bits, std::uint16_t infinity, float beyond) {
  EXPECT_EQ(from_bits(infinity), std::numeric_limits<float>::infinity());
  for (std::uint32_t k = 0; k < infinity; ++k) {
    const auto bits = static_cast<std::uint16_t>(k);
    const auto sign = static_cast<std::uint16_t>(0x8000U | bits);
    const float low = from_bits(bits);
    const float high = k + 1 < infinity ? from_bits(static_cast<std::uint16_t>(k + 1)) : beyond;
    const float middle = low / 2 + high / 2;
    ASSERT_LT(low, high) << k;
    ASSERT_EQ(to_bits(low), bits);
    ASSERT_EQ(to_bits(-low), sign);
    ASSERT_EQ(from_bits(sign), -low);
    if (middle == low || middle == high) continue;  // A float has no number between them.
    ASSERT_EQ(to_bits(middle), bits + bits % 2) << k;
    ASSERT_EQ(to_bits(std::nextafter(middle, 0.0F)), bits) << k;
    ASSERT_EQ(to_bits(std::nextafter(middle, high)), bits + 1) << k;
  }
  EXPECT_EQ(to_bits(std::numeric_limits<float>::infinity()), infinity);
  for (std::uint32_t k = infinity + 1U; k <= 0x7fff; ++k) {
    const float nan = from_bits(static_cast<std::uint16_t>(k));
    ASSERT_TRUE(std::isnan(nan)) << k;
    ASSERT_TRUE(std::isnan(from_bits(to_bits(nan)))) << k;
  }
}

TEST(Float16, IsTheNearest) { expect_nearest(float_from_f16, f16_from_float, 0x7c00, 65536); }

TEST(BFloat16, IsTheNearest) {
  expect_nearest(float_from_bf16, bf16_from_float, 0x7f80, std::numeric_limits<float>::infinity());
}

TEST(Float16, KeepsWhatANanSays) {
  EXPECT_EQ(f16_from_float(std::bit_cast<float>(0x7f800001U)), 0x7e00) << "it is quiet";
  EXPECT_EQ(f16_from_float(std::bit_cast<float>(0xffc02000U)), 0xfe01);
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x7f800001U)), 0x7fc0);
}

}  // namespace
}  // namespace soapstone::core
