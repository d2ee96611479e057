// Changes of layout: which collectives they take, and their gradients.
#include <gtest/gtest.h>

#include <array>
#include <utility>

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

using Kinds = std::vector<std::pair<Collective, std::size_t>>;

/// Collectives and axes of a change on 4 x 2 devices, where an all-reduce takes twice as long as
/// its halves. `us_per_byte`: by axis.
Kinds steps_of(const Layout& from, const Layout& to, std::array<double, 2> us_per_byte,
               double all_reduce_latency_us, double half_latency_us) {
  const Mesh m({4, 2}, [=](Collective what, std::size_t axis, double bytes) {
    const bool is_sum = what == Collective::kAllReduce;
    return us_per_byte[axis] * bytes * (is_sum ? 2 : 1) +
           (is_sum ? all_reduce_latency_us : half_latency_us);
  });
  const std::vector<ConversionStep> steps = conversion_steps(m, kWholeBytes, from, to);
  Kinds kinds;
  double us = 0;
  for (const ConversionStep& step : steps) {
    kinds.emplace_back(step.what, step.axis);
    us += step.us;
  }
  EXPECT_DOUBLE_EQ(convert(m, kWholeBytes, from, to).us, us);
  return kinds;
}

TEST(ConversionSteps, MoveTheLeastAlongTheSlowAxis) {
  using enum Collective;
  const Layout sum = layout(kPartial, kPartial), whole = layout(kReplicated);
  const Kinds inner_first{{kReduceScatter, 0}, {kAllReduce, 1}, {kAllGather, 0}};
  const Kinds outer_first{{kReduceScatter, 1}, {kAllReduce, 0}, {kAllGather, 1}};
  EXPECT_EQ(steps_of(sum, whole, {1, 1}, 0, 0), inner_first);
  EXPECT_EQ(steps_of(sum, whole, {1, 9}, 0, 0), inner_first);
  EXPECT_EQ(steps_of(sum, whole, {9, 1}, 0, 0), outer_first);
  EXPECT_EQ(steps_of(sum, layout(0, 1), {9, 1}, 0, 0),
            (Kinds{{kReduceScatter, 1}, {kReduceScatter, 0}}));
  EXPECT_EQ(steps_of(layout(0, 1), whole, {1, 9}, 0, 0), (Kinds{{kAllGather, 1}, {kAllGather, 0}}));
  EXPECT_EQ(steps_of(layout(0, 1), whole, {9, 1}, 0, 0), (Kinds{{kAllGather, 0}, {kAllGather, 1}}));
}

TEST(ConversionSteps, AreFewWhereLatencyIsAll) {
  using enum Collective;
  EXPECT_EQ(steps_of(layout(kPartial, kPartial), layout(kReplicated), {1, 1}, 1e4, 1e4),
            (Kinds{{kAllReduce, 0}, {kAllReduce, 1}}));
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
