// Changes of layout: which collectives they take, and their gradients.
#include <gtest/gtest.h>

#include "parallel/sharding/mesh.h"

namespace soapstone::parallel {
namespace {

constexpr double kWholeBytes = 1024;

/// A mesh where a byte takes a microsecond, and collectives have numbers beyond that.
class MeshTest : public testing::Test {
 protected:
  Mesh mesh(std::vector<std::int64_t> sizes) {
    return Mesh(std::move(sizes), [this](Collective what, std::size_t axis, double bytes) {
      calls_.push_back({what, axis, bytes});
      return bytes;
    });
  }
  struct Call {
    Collective what;
    std::size_t axis;
    double bytes;
    bool operator==(const Call&) const = default;
  };
  std::vector<Call> calls_;
};

Layout layout(std::int8_t first, std::int8_t second = kReplicated) {
  Layout result;
  result.axes[0] = first;
  result.axes[1] = second;
  return result;
}

TEST(InProportion, AddsUpAndIsNearest) {
  const std::vector<double> rates = {1, 1, 2};
  EXPECT_EQ(in_proportion(8, rates), (std::vector<std::int64_t>{2, 2, 4}));
  EXPECT_EQ(in_proportion(9, rates), (std::vector<std::int64_t>{2, 2, 5}));
  EXPECT_EQ(in_proportion(10, rates), (std::vector<std::int64_t>{3, 2, 5}));
  EXPECT_EQ(in_proportion(1, rates), (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(in_proportion(7, std::vector<double>(2, 1.0)), (std::vector<std::int64_t>{4, 3}));
}

TEST_F(MeshTest, PositionsWithMoreHoldAndMoveMore) {
  const Mesh m(
      {2, 2}, [](Collective, std::size_t, double bytes) { return bytes; },
      UnevenAxis{1, {1, 3}, {0, 1}});
  EXPECT_EQ(m.largest_share(0), 0.5);
  EXPECT_EQ(m.largest_share(1), 0.75);
  EXPECT_EQ(m.largest_piece(layout(0, 1)), 0.375);
  EXPECT_EQ(m.largest_piece(layout(kReplicated, kPartial)), 1);
  // Each step of the ring waits for the largest piece: 3/4 instead of 1/2 of the whole.
  EXPECT_NEAR(convert(m, kWholeBytes, layout(kReplicated, 0), layout(kReplicated)).us,
              kWholeBytes * 1.5, 1e-9);
  EXPECT_NEAR(convert(m, kWholeBytes, layout(0), layout(kReplicated)).us, kWholeBytes, 1e-9);
  // A sum that all get is made in equal parts.
  EXPECT_NEAR(convert(m, kWholeBytes, layout(kReplicated, kPartial), layout(kReplicated)).us,
              kWholeBytes, 1e-9);
}

TEST_F(MeshTest, WhatIsThereIsFree) {
  const Mesh m = mesh({4, 2});
  EXPECT_EQ(convert(m, kWholeBytes, layout(0, 1), layout(0, 1)).us, 0);
  EXPECT_EQ(convert(m, kWholeBytes, layout(kReplicated), layout(1, 0)).us, 0);
  EXPECT_EQ(convert(m, kWholeBytes, layout(kReplicated), layout(kBroadcast)).us, 0);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(MeshTest, CutsAreGathered) {
  const Conversion made = convert(mesh({4, 2}), kWholeBytes, layout(0), layout(kBroadcast));
  EXPECT_EQ(calls_, (std::vector<Call>{{Collective::kAllGather, 0, kWholeBytes}}));
  EXPECT_DOUBLE_EQ(made.bytes_moved, kWholeBytes * 3 / 4);
}

TEST_F(MeshTest, SumsAreScatteredWhereThatIsEnough) {
  convert(mesh({4, 2}), kWholeBytes, layout(kPartial, 1), layout(0, 1));
  EXPECT_EQ(calls_, (std::vector<Call>{{Collective::kReduceScatter, 0, kWholeBytes / 2}}));
}

TEST_F(MeshTest, SumsAlongTwoAxesMoveTheLeastOnTheOuterOne) {
  convert(mesh({4, 2}), kWholeBytes, layout(kPartial, kPartial), layout(kReplicated));
  EXPECT_EQ(calls_, (std::vector<Call>{{Collective::kReduceScatter, 0, kWholeBytes},
                                       {Collective::kAllReduce, 1, kWholeBytes / 4},
                                       {Collective::kAllGather, 0, kWholeBytes}}));
}

TEST_F(MeshTest, AnotherDimensionIsAnExchange) {
  convert(mesh({4, 2}), kWholeBytes, layout(0, 1), layout(1, 1));
  EXPECT_EQ(calls_, (std::vector<Call>{{Collective::kAllToAll, 0, kWholeBytes / 8}}));
}

/// Megatron's pair: what is copied forward is summed backward, and the other way round.
TEST_F(MeshTest, TheGradientOfACopyIsASum) {
  const Mesh m = mesh({8});
  EXPECT_EQ(convert(m, kWholeBytes, layout(kReplicated), layout(kBroadcast)).us, 0);
  convert_gradient(m, kWholeBytes, layout(kReplicated), layout(kBroadcast));
  EXPECT_EQ(calls_, (std::vector<Call>{{Collective::kAllReduce, 0, kWholeBytes}}));
  EXPECT_EQ(convert(m, kWholeBytes, layout(kPartial), layout(kReplicated)).us, kWholeBytes);
  EXPECT_EQ(convert_gradient(m, kWholeBytes, layout(kPartial), layout(kReplicated)).us, 0);
}

/// The same with the sequence cut in between.
TEST_F(MeshTest, TheGradientOfAGatherIsAScatter) {
  const Mesh m = mesh({8});
  convert(m, kWholeBytes, layout(1), layout(kBroadcast));
  convert_gradient(m, kWholeBytes, layout(1), layout(kBroadcast));
  EXPECT_EQ(calls_, (std::vector<Call>{{Collective::kAllGather, 0, kWholeBytes},
                                       {Collective::kReduceScatter, 0, kWholeBytes}}));
}

}  // namespace
}  // namespace soapstone::parallel
