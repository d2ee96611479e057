// What changes of layout keep for gradients: the reader's layout, or the producer's and the change
// once more, whichever is cheaper.
#include "parallel/sharding/layout_changes.h"

#include <gtest/gtest.h>

namespace soapstone::parallel {
namespace {

constexpr double kBytes = 1024;
constexpr double kDevices = 8;

/// Eight devices, on which a collective takes a microsecond a byte.
class KeptForGradients : public testing::Test {
 protected:
  KeptForGradients() {
    tensor_.bytes = kBytes;
    tensor_.has_gradient = tensor_.is_kept = true;
    options_.is_training = true;
    options_.weights.forward = options_.weights.backward = 4;
    options_.kept_microbatches = 2;
  }
  static Layout on_axis(std::int8_t use) {
    Layout layout;
    layout.axes[0] = use;
    return layout;
  }
  LayoutChange change(std::int8_t from, std::int8_t to, Keeping keeping) const {
    return LayoutChanges(mesh_, options_).change(tensor_, on_axis(from), on_axis(to), keeping);
  }
  double cost(std::int8_t from, std::int8_t to, Keeping keeping) const {
    return LayoutChanges(mesh_, options_).cost(tensor_, on_axis(from), on_axis(to), keeping);
  }

  const Mesh mesh_{{8}, [](Collective, std::size_t, double bytes) { return bytes; }};
  TensorWork tensor_;
  ShardingOptions options_;
  /// A gather and a scatter in each of four microbatches.
  static constexpr double kThereAndBack = 4 * 2 * kBytes;
  /// A third pass costs as much as the bytes that it saves, at this price for two microbatches.
  static constexpr double kBreakEven = 4 * kBytes / (2 * kBytes * (kDevices - 1) / kDevices);
};

TEST_F(KeptForGradients, WhatIsGatheredIsKeptWholeWhereMemoryIsFree) {
  const LayoutChange made = change(0, kBroadcast, {true, true});
  EXPECT_EQ(made.kept_bytes, kBytes);
  EXPECT_EQ(made.again.us, 0);
  EXPECT_EQ(cost(0, kBroadcast, {true, true}), kThereAndBack);
}

TEST_F(KeptForGradients, ItsPartIsKeptAndGatheredAgainWhereMemoryCostsMore) {
  options_.us_per_byte = kBreakEven * 1.01;
  const LayoutChange made = change(0, kBroadcast, {true, true});
  EXPECT_EQ(made.kept_bytes, kBytes / kDevices);
  EXPECT_EQ(made.again.us, kBytes);
  EXPECT_EQ(made.again.bytes_moved, kBytes * (kDevices - 1) / kDevices);
  EXPECT_DOUBLE_EQ(cost(0, kBroadcast, {true, true}),
                   kThereAndBack + 4 * kBytes + 2 * kBytes / kDevices * options_.us_per_byte);
}

TEST_F(KeptForGradients, TheCheaperOfBothCounts) {
  options_.us_per_byte = kBreakEven * 0.99;
  EXPECT_EQ(change(0, kBroadcast, {true, true}).again.us, 0);
  EXPECT_DOUBLE_EQ(cost(0, kBroadcast, {true, true}),
                   kThereAndBack + 2 * kBytes * options_.us_per_byte);
}

TEST_F(KeptForGradients, WhatNobodyReadsAgainIsNotGatheredAgain) {
  options_.us_per_byte = kBreakEven * 10;
  EXPECT_EQ(change(0, kBroadcast, {}).kept_bytes, 0);
  EXPECT_EQ(change(0, kBroadcast, {}).again.us, 0);
}

TEST_F(KeptForGradients, ACutOfACopyKeepsTheCut) {
  const LayoutChange made = change(kReplicated, 0, {true, true});
  EXPECT_EQ(made.kept_bytes, kBytes / kDevices);
  EXPECT_EQ(made.again.us, 0);
}

TEST_F(KeptForGradients, PartialSumsAreNotKept) {
  options_.us_per_byte = kBreakEven * 10;
  const LayoutChange made = change(kPartial, kReplicated, {true, true});
  EXPECT_EQ(made.kept_bytes, kBytes);
  EXPECT_EQ(made.again.us, 0);
}

TEST_F(KeptForGradients, ASecondCopyIsKeptBesideTheFirstOrMadeAgain) {
  EXPECT_EQ(change(0, kBroadcast, {false, true}).kept_bytes, kBytes);
  options_.us_per_byte = kBreakEven;
  EXPECT_EQ(change(0, kBroadcast, {false, true}).kept_bytes, 0);
  EXPECT_EQ(change(0, kBroadcast, {false, true}).again.us, kBytes);
  EXPECT_EQ(change(0, 0, {false, true}).kept_bytes, 0);
}

TEST_F(KeptForGradients, ASecondForwardPassGathersByItself) {
  options_.recomputes = true;
  options_.us_per_byte = kBreakEven * 10;
  EXPECT_EQ(change(0, kBroadcast, {true, true}).again.us, 0);
  EXPECT_EQ(cost(0, kBroadcast, {true, true}), 4 * 3 * kBytes);
}

}  // namespace
}  // namespace soapstone::parallel
