// The arithmetic of reductions: the order, where it rounds, how it wraps, and what a NaN does.
#include "runtime/collectives/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/float16.h"

namespace soapstone::runtime {
namespace {

using core::DataType;

/// The reduction of one vector a rank.
template <class T>
std::vector<T> reduce(const std::vector<std::vector<T>>& ranks, DataType type,
                      Reduction reduction) {
  std::vector<const std::byte*> from;
  for (const auto& rank : ranks) from.push_back(reinterpret_cast<const std::byte*>(rank.data()));
  std::vector<T> to(ranks[0].size());
  reduce_in_order(from, static_cast<std::int64_t>(to.size()), type, reduction,
                  reinterpret_cast<std::byte*>(to.data()));
  return to;
}

TEST(Reduction, AddsInTheOrderOfRanks) {
  const std::vector<std::vector<float>> ranks{{1e8F}, {-1e8F}, {1}};
  EXPECT_EQ(reduce(ranks, DataType::kFloat32, Reduction::kSum), std::vector<float>{1});
  const std::vector<std::vector<float>> others{{1}, {1e8F}, {-1e8F}};
  EXPECT_EQ(reduce(others, DataType::kFloat32, Reduction::kSum), std::vector<float>{0});
  const std::vector<std::vector<double>> wide{{1}, {1e17}, {-1e17}};
  EXPECT_EQ(reduce(wide, DataType::kFloat64, Reduction::kSum), std::vector<double>{0});
}

TEST(Reduction, RoundsSmallFloatsOnce) {
  // 2048 + 1 is 2048 in f16, and 256 + 1 is 256 in bf16.
  const std::vector<std::vector<std::uint16_t>> halves{
      {core::f16_from_float(2048)}, {core::f16_from_float(1)}, {core::f16_from_float(1)}};
  EXPECT_EQ(core::float_from_f16(reduce(halves, DataType::kFloat16, Reduction::kSum)[0]), 2050);
  const std::vector<std::vector<std::uint16_t>> brains{
      {core::bf16_from_float(256)}, {core::bf16_from_float(1)}, {core::bf16_from_float(1)}};
  EXPECT_EQ(core::float_from_bf16(reduce(brains, DataType::kBFloat16, Reduction::kSum)[0]), 258);
}

template <class T>
void expect_wrapping(DataType type) {
  const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  const std::vector<std::vector<T>> ranks{{most, least}, {1, static_cast<T>(-1)}};
  EXPECT_EQ(reduce(ranks, type, Reduction::kSum), (std::vector<T>{least, most}));
  EXPECT_EQ(reduce(ranks, type, Reduction::kMax)[0], most);
  EXPECT_EQ(reduce(ranks, type, Reduction::kMin)[1], least);
}

TEST(Reduction, WrapsIntegers) {
  expect_wrapping<std::int64_t>(DataType::kInt64);
  expect_wrapping<std::int32_t>(DataType::kInt32);
  expect_wrapping<std::int16_t>(DataType::kInt16);
  expect_wrapping<std::int8_t>(DataType::kInt8);
  expect_wrapping<std::uint64_t>(DataType::kUInt64);
  expect_wrapping<std::uint32_t>(DataType::kUInt32);
  expect_wrapping<std::uint16_t>(DataType::kUInt16);
  expect_wrapping<std::uint8_t>(DataType::kUInt8);
}

TEST(Reduction, NanIsTheLargestAndTheSmallest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> ranks{{nan, 1, 1}, {2, nan, 3}, {3, 2, -2}};
  for (const Reduction reduction : {Reduction::kMax, Reduction::kMin}) {
    const auto result = reduce(ranks, DataType::kFloat32, reduction);
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1]));
    EXPECT_EQ(result[2], reduction == Reduction::kMax ? 3 : -2);
  }
}

/// More elements than a block has, not a multiple of one; the result replaces one of the operands.
TEST(Reduction, WritesOverAnyOfItsOperands) {
  constexpr std::size_t kCount = 2500;
  for (std::size_t over = 0; over < 3; ++over) {
    std::vector<std::vector<float>> ranks(3, std::vector<float>(kCount));
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t k = 0; k < kCount; ++k)
        ranks[r][k] = std::sin(static_cast<float>(r + 3 * k)) * 1e3F;
    std::vector<float> wanted(kCount);
    for (std::size_t k = 0; k < kCount; ++k) wanted[k] = (ranks[0][k] + ranks[1][k]) + ranks[2][k];
    std::vector<const std::byte*> from;
    for (auto& rank : ranks) from.push_back(reinterpret_cast<const std::byte*>(rank.data()));
    reduce_in_order(from, kCount, DataType::kFloat32, Reduction::kSum,
                    reinterpret_cast<std::byte*>(ranks[over].data()));
    EXPECT_EQ(ranks[over], wanted);
  }
}

TEST(Reduction, IsOfNumbers) {
  EXPECT_TRUE(can_reduce(DataType::kBFloat16));
  EXPECT_FALSE(can_reduce(DataType::kBool));
  EXPECT_FALSE(can_reduce(DataType::kString));
}

}  // namespace
}  // namespace soapstone::runtime
