// Arithmetic of the prime field against 128-bit remainders, and constants against their meaning.
#include "ops/evaluation/field.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace soapstone::ops {
namespace {

using field::kPrime;
using field::Value;

TEST(Field, ArithmeticEqualsRemainders) {
  std::mt19937_64 random(3);
  for (int k = 0; k < 2000; ++k) {
    const Value a = random() % kPrime, b = random() % kPrime;
    EXPECT_EQ(field::add(a, b), (a + b) % kPrime);
    EXPECT_EQ(field::multiply(a, b), static_cast<Value>(field::Wide{a} * b % kPrime));
    EXPECT_EQ(field::add(a, field::negate(a)), 0u);
    EXPECT_EQ(field::multiply(a, field::inverse(a)), a == 0 ? 0u : 1u);
    const field::Wide wide = (field::Wide{random()} << 64) | random();
    EXPECT_EQ(field::fold(wide), static_cast<Value>(wide % kPrime));
  }
  EXPECT_EQ(field::inverse(0), 0u);
  EXPECT_EQ(field::multiply(kPrime - 1, kPrime - 1), 1u);
  EXPECT_EQ(field::power(3, 5), 243u);
}

TEST(Field, SignedIntegers) {
  for (std::int64_t v : {std::int64_t{0}, std::int64_t{5}, std::int64_t{-5},
                         (std::int64_t{1} << 60) - 1, 1 - (std::int64_t{1} << 60)})
    EXPECT_EQ(field::to_signed(field::from_int(v)), v);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(field::add(field::from_int(kLeast), field::from_int(kLeast + 1)),
            field::from_int(-7));  // −2^64 + 1, where 2^61 is 1
}

TEST(Field, RationalsAreExact) {
  for (const Rational r : {Rational{1, 3}, Rational{-7, 8}, Rational{5, 1 << 20},
                           Rational{1, std::int64_t{1} << 61}, Rational{3, std::int64_t{1} << 62}})
    EXPECT_EQ(field::multiply(field_from_rational(r), field::from_int(r.denominator)),
              field::from_int(r.numerator));
}

TEST(Field, LiteralsKeepIntegersAndDyadicFractions) {
  const float floats[] = {0.5f, -3, 0.75f};
  const auto values = to_field(core::Literal::floats({3}, floats));
  EXPECT_EQ(field::multiply(values[0], 2), 1u);
  EXPECT_EQ(values[1], field::from_int(-3));
  EXPECT_EQ(field::multiply(values[2], 4), 3u);
  const std::int64_t large[] = {(std::int64_t{1} << 55) + 1};
  EXPECT_EQ(to_field(core::Literal::ints({1}, large))[0], field::from_int(large[0]));
}

TEST(Field, FunctionsDependOnTheKeyAlone) {
  const Value x = 12345;
  EXPECT_EQ(field::apply(Function::kExp, &x, 1), field::apply(Function::kExp, &x, 1));
  EXPECT_NE(field::apply(Function::kExp, &x, 1), field::apply(Function::kExp, &x, 2));
  EXPECT_NE(field::apply(Function::kExp, &x, 1), field::apply(Function::kTanh, &x, 1));
  EXPECT_EQ(field::apply(Function::kExp, &x, 1),
            579525149352981676u);  // the same in every run and version
}

TEST(Field, SmallPowersAreExact) {
  const Value cube[] = {7, 3}, inverse[] = {7, field::from_int(-1)};
  EXPECT_EQ(field::apply(Function::kPow, cube, 1), 343u);
  EXPECT_EQ(field::apply(Function::kPow, inverse, 1), field::inverse(7));
}

}  // namespace
}  // namespace soapstone::ops
