// Strides, equal layouts, and which parts of a tensor are contiguous in which layout.
#include "runtime/launches/layout.h"

#include <gtest/gtest.h>

#include "runtime/execution/elements.h"

namespace soapstone::runtime {
namespace {

using core::Dims;

core::TensorType floats(const Dims& dims) {
  return {core::DataType::kFloat32, core::to_shape(dims), true};
}

TEST(Layout, Strides) {
  EXPECT_EQ(strides_of({2, 3, 4, 5}, Layout::kRowMajor), (Dims{60, 20, 5, 1}));
  EXPECT_EQ(strides_of({2, 3, 4, 5}, Layout::kChannelsLast), (Dims{60, 1, 15, 3}));
  EXPECT_EQ(strides_of({}, Layout::kRowMajor), Dims{});
}

TEST(Layout, CanonicalIsRowMajorWhereBothAreTheSameBytes) {
  EXPECT_EQ(canonical(floats({2, 3, 4, 5}), Layout::kChannelsLast), Layout::kChannelsLast);
  EXPECT_EQ(canonical(floats({2, 1, 4, 5}), Layout::kChannelsLast), Layout::kRowMajor);
  EXPECT_EQ(canonical(floats({2, 3, 1, 1}), Layout::kChannelsLast), Layout::kRowMajor);
  EXPECT_EQ(canonical(floats({2, 3}), Layout::kChannelsLast), Layout::kRowMajor);
  EXPECT_EQ(canonical(floats({2, 3, 4}), Layout::kRowMajor), Layout::kRowMajor);
}

TEST(Layout, OutermostDimension) {
  const core::TensorType image = floats({1, 3, 4, 5});
  EXPECT_TRUE(is_outermost(image, Layout::kRowMajor, 1));
  EXPECT_FALSE(is_outermost(image, Layout::kRowMajor, 2));
  EXPECT_FALSE(is_outermost(image, Layout::kChannelsLast, 1));
  EXPECT_TRUE(is_outermost(image, Layout::kChannelsLast, 2));
  EXPECT_FALSE(is_outermost(image, Layout::kChannelsLast, 3));
  EXPECT_TRUE(is_outermost(floats({2, 3, 4, 5}), Layout::kChannelsLast, 0));
}

TEST(Elements, RoundTripThroughEveryType) {
  const std::vector<double> values = {0, 1, 1, 0, 1, 0};
  for (int t = 0; t <= static_cast<int>(core::DataType::kBool); ++t) {
    const core::TensorType type{static_cast<core::DataType>(t), core::to_shape({1, 3, 2}), true};
    std::vector<std::byte> bytes(storage_bytes(type));
    store_elements(type, Layout::kChannelsLast, values, bytes.data());
    EXPECT_EQ(load_elements(type, Layout::kChannelsLast, bytes.data()), values) << t;
    EXPECT_EQ(load_elements(type, Layout::kRowMajor, bytes.data()),
              (std::vector<double>{0, 1, 1, 1, 0, 0}));
  }
}

TEST(Elements, IntegersSaturate) {
  const core::TensorType type{core::DataType::kInt8, core::to_shape({3}), true};
  std::vector<std::byte> bytes(3);
  store_elements(type, Layout::kRowMajor, std::vector<double>{1e9, -1e9, -1.9}, bytes.data());
  EXPECT_EQ(load_elements(type, Layout::kRowMajor, bytes.data()),
            (std::vector<double>{127, -128, -1}));
}

TEST(Elements, CopiesBetweenLayouts) {
  const core::TensorType type = floats({2, 3, 2, 2});
  const Dims dims = dims_of(type);
  std::vector<double> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  std::vector<std::byte> from(storage_bytes(type)), to(from.size());
  store_elements(type, Layout::kRowMajor, values, from.data());
  copy_strided(dims, 4, from.data(), strides_of(dims, Layout::kRowMajor), to.data(),
               strides_of(dims, Layout::kChannelsLast));
  EXPECT_EQ(load_elements(type, Layout::kChannelsLast, to.data()), values);
}

}  // namespace
}  // namespace soapstone::runtime
