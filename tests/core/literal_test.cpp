// Constants, element types, 16-bit floats and byte hashes.
#include "core/graph/literal.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/float16.h"
#include "core/base/hash.h"
#include "core/text/literal_text.h"

namespace soapstone::core {
namespace {

TEST(Hash, IsXxh64) {  // reference values of the xxHash project
  EXPECT_EQ(hash_text(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hash_text("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hash_text("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hash_text("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(DataType, NamesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(DataType::kOther); ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(parse_data_type(to_string(type)), type);
  }
  EXPECT_EQ(parse_data_type("f31"), std::nullopt);
}

TEST(Dims, ElementCountIsChecked) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(checked_element_count({}), 1);
  EXPECT_EQ(checked_element_count({2, 3}), 6);
  EXPECT_EQ(checked_element_count({big, big, 0}), 0);
  EXPECT_EQ(checked_element_count({big, big}), std::nullopt);
  EXPECT_EQ(checked_element_count({0, -1}), std::nullopt);
}

TEST(Float16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float f16 = float_from_f16(half), bf16 = float_from_bf16(half);
    if (std::isnan(f16)) {
      EXPECT_TRUE(std::isnan(float_from_f16(f16_from_float(f16))));
    } else {
      EXPECT_EQ(f16_from_float(f16), half);
    }
    EXPECT_TRUE(std::isnan(bf16) || bf16_from_float(bf16) == half);
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(f16_from_float(1.0f + 0x1p-11f), 0x3c00);             // tie: down to even
  EXPECT_EQ(f16_from_float(1.0f + 3 * 0x1p-11f), 0x3c02);         // tie: up to even
  EXPECT_EQ(f16_from_float(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);  // above the tie
  EXPECT_EQ(f16_from_float(65519.0f), 0x7bff);
  EXPECT_EQ(f16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_float(0x1p-25f), 0x0000);  // tie with zero
  EXPECT_EQ(f16_from_float(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(f16_from_float(0x1p-14f - 0x1p-26f), 0x0400);  // carries into a normal
  EXPECT_EQ(f16_from_float(-0.0f), 0x8000);
  EXPECT_EQ(bf16_from_float(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bf16_from_float(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Literal, HoldsWhatItWasGiven) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const Literal literal = Literal::floats({2, 3}, values);
  EXPECT_EQ(literal.data_type(), DataType::kFloat32);
  EXPECT_EQ(literal.count(), 6);
  EXPECT_EQ(literal.as<float>()[5], 6);
  EXPECT_EQ(literal.to_doubles(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(literal.to_ints(), std::nullopt);
  EXPECT_EQ(Literal::ints({2}, std::vector<std::int64_t>{-1, 7}).to_ints(),
            (std::vector<std::int64_t>{-1, 7}));
}

TEST(Literal, HashAndEqualityAreOfTypeShapeAndContents) {
  const float values[] = {1, 2, 3, 4};
  const Literal a = Literal::floats({4}, values), b = Literal::floats({4}, values);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  const Literal square = a.reshaped({2, 2});
  EXPECT_FALSE(a == square);
  EXPECT_NE(a.hash(), square.hash());
  EXPECT_EQ(square, Literal::floats({2, 2}, values));
  EXPECT_EQ(square.hash(), Literal::floats({2, 2}, values).hash());
  EXPECT_NE(a.hash(), Literal::copy(DataType::kInt32, {4}, a.bytes()).hash());
}

TEST(Literal, SharesBytesUnlessTheyAreMisaligned) {
  auto file = std::make_shared<std::vector<std::byte>>(9);
  const auto bytes = std::span<const std::byte>(*file);
  const Literal aligned = Literal::view(DataType::kFloat32, {2}, bytes.first(8), file);
  EXPECT_EQ(aligned.bytes().data(), file->data());
  const Literal odd = Literal::view(DataType::kFloat32, {2}, bytes.last(8), file);
  EXPECT_NE(odd.bytes().data(), file->data() + 1);
  EXPECT_EQ(odd, aligned);
}

template <class T>
Literal literal(DataType type, std::vector<T> values) {
  return Literal::copy(type, {static_cast<std::int64_t>(values.size())},
                       std::as_bytes(std::span(values)));
}

void expect_same_after_text(const Literal& before) {
  const auto values = literal_values(before);
  ASSERT_TRUE(values);
  const auto after = literal_from_values(before.data_type(), before.dims(), *values);
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(*after, before);
}

TEST(LiteralText, IsReadBackExactly) {
  using Double = std::numeric_limits<double>;
  expect_same_after_text(literal<float>(DataType::kFloat32, {0.1f, -0.0f, 1e-45f, INFINITY}));
  expect_same_after_text(
      literal<double>(DataType::kFloat64, {0.1, -Double::infinity(), 1e308, Double::quiet_NaN()}));
  expect_same_after_text(literal<std::uint16_t>(DataType::kFloat16, {0x3c01, 0x0001, 0xfc00}));
  expect_same_after_text(literal<std::uint16_t>(DataType::kBFloat16, {0x3f81, 0x8000}));
  expect_same_after_text(literal<std::int64_t>(DataType::kInt64, {INT64_MIN, INT64_MAX}));
  expect_same_after_text(literal<std::uint64_t>(DataType::kUInt64, {UINT64_MAX}));
  expect_same_after_text(literal<std::int8_t>(DataType::kInt8, {-128, 127}));
  expect_same_after_text(literal<std::uint8_t>(DataType::kBool, {0, 1}));
  expect_same_after_text(literal<std::int16_t>(DataType::kInt16, {}));
}

TEST(LiteralText, WhatTextCannotHoldHasNone) {
  EXPECT_FALSE(literal_values(literal<std::uint32_t>(DataType::kFloat32, {0x7fc00001})));
  EXPECT_FALSE(literal_values(literal<std::uint8_t>(DataType::kBool, {2})));
  EXPECT_FALSE(literal_values(literal<std::uint8_t>(DataType::kString, {65})));
}

}  // namespace
}  // namespace soapstone::core
