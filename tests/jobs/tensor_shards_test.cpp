// Shards of tensors: nested blocks, in row-major order, and who holds them.
#include "jobs/plan/tensor_shards.h"

#include <gtest/gtest.h>

namespace soapstone::jobs {
namespace {

using Holders = std::vector<std::vector<std::int64_t>>;

/// The second stage of a mesh of 2 · 2 · 2 devices: numbers 8 to 15.
const StageMesh kMesh{8, {2, 2, 2}};

ops::LoopPlace whole(std::size_t dim) { return {0, dim}; }

/// The loop over blocks of `stride` elements within each `period`; 0: within all.
ops::LoopPlace blocks(std::size_t dim, std::int64_t stride, std::int64_t period) {
  return {0, dim, stride, 1, {0, stride}, period};
}

TEST(TensorShards, AreInRowMajorOrderAndNameAllHolders) {
  const std::vector<TensorCut> cuts = {{2, whole(0)}, {0, whole(1)}};
  const auto shards = shards_of({24, 8}, cuts, kMesh);
  ASSERT_TRUE(shards);
  EXPECT_EQ(shards->dims, (std::vector<models::ShardedDim>{{0, {{24, 2}}}, {1, {{8, 2}}}}));
  EXPECT_EQ(shards->holders, (Holders{{8, 10}, {9, 11}, {12, 14}, {13, 15}}));
}

TEST(TensorShards, OfWhatIsNotCutAreOneThatAllHold) {
  const auto shards = shards_of({24, 8}, {}, kMesh);
  ASSERT_TRUE(shards);
  EXPECT_TRUE(shards->dims.empty());
  EXPECT_EQ(shards->holders, (Holders{{8, 9, 10, 11, 12, 13, 14, 15}}));
}

TEST(TensorShards, OfTwoAxesOfADimensionFollowTheOuterOneFirst) {
  const std::vector<TensorCut> cuts = {{2, whole(0)}, {0, whole(0)}};
  const auto shards = shards_of({24}, cuts, kMesh);
  ASSERT_TRUE(shards);
  EXPECT_EQ(shards->dims, (std::vector<models::ShardedDim>{{0, {{24, 4}}}}));
  EXPECT_EQ(shards->holders, (Holders{{8, 10}, {9, 11}, {12, 14}, {13, 15}}));
}

TEST(TensorShards, WithinBlocksHaveALevelForEach) {
  const std::vector<TensorCut> cuts = {{0, blocks(0, 4, 8)}};
  const auto shards = shards_of({24}, cuts, kMesh);
  ASSERT_TRUE(shards);
  EXPECT_EQ(shards->dims, (std::vector<models::ShardedDim>{{0, {{3, 1}, {8, 2}}}}));
  EXPECT_EQ(shards->holders.size(), 2U);
}

TEST(TensorShards, OfBlocksAndWithinThemAreNested) {
  const std::vector<TensorCut> cuts = {{2, blocks(0, 8, 0)}, {0, blocks(0, 1, 8)}};
  const auto shards = shards_of({32}, cuts, kMesh);
  ASSERT_TRUE(shards);
  EXPECT_EQ(shards->dims, (std::vector<models::ShardedDim>{{0, {{4, 2}, {8, 2}}}}));
  EXPECT_EQ(shards->holders, (Holders{{8, 10}, {9, 11}, {12, 14}, {13, 15}}));
}

TEST(TensorShards, OfBlocksThatCannotBeSharedEvenlyKeepTheBlocks) {
  const std::vector<TensorCut> cuts = {{0, blocks(0, 8, 0)}};
  const auto shards = shards_of({40}, cuts, kMesh);
  ASSERT_TRUE(shards);
  EXPECT_EQ(shards->dims, (std::vector<models::ShardedDim>{{0, {{5, 2}, {8, 1}}}}));
}

TEST(TensorShards, AreNoneIfCutsDoNotNest) {
  const std::vector<TensorCut> apart = {{2, blocks(0, 1, 6)}, {0, blocks(0, 1, 4)}};
  EXPECT_FALSE(shards_of({24}, apart, kMesh));
  const std::vector<TensorCut> too_many = {{2, whole(0)}, {0, whole(0)}};
  EXPECT_FALSE(shards_of({3}, too_many, kMesh));
}

}  // namespace
}  // namespace soapstone::jobs
