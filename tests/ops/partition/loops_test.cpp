// Which loops operators have, found from their definitions alone.
#include "ops/partition/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/partition/one_node.h"

namespace soapstone::ops {
namespace {

using test::one_node;
using test::OneNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string letter(DimRole role) {
  switch (role) {
  case DimRole::kSample:
    return "S";
  case DimRole::kAttribute:
    return "A";
  case DimRole::kParameter:
    return "P";
  case DimRole::kReduction:
    return "R";
  case DimRole::kWhole:
    return "W";
  }
  return "?";
}

/// `S8 P4 R16`: roles and sizes.
std::string loops_of(const OneNode& one) {
  std::string text;
  for (const Loop& loop : one.space.loops)
    text += (text.empty() ? "" : " ") + letter(loop.role) + std::to_string(loop.size);
  return text;
}

LoopPlace place(std::size_t tensor, std::size_t dim, std::int64_t stride = 1,
                Interval window = {0, 1}, std::int64_t period = 0, std::int64_t divisor = 1) {
  return {tensor, dim, stride, divisor, window, period};
}

TEST(Loops, Convolution) {
  const auto one = one_node("x: f32[2, 3, 8, 9]  w: f32[4, 3, 3, 3]  b: f32[4]",
                            "conv(x, w, b; pads=[1, 1, 1, 1], strides=[1, 2])", 1, {1, 2});
  EXPECT_EQ(loops_of(one), "S2 P4 A8 A5 R3 R3 R3");
  const auto& loops = one.space.loops;
  EXPECT_THAT(loops[0].follows, ElementsAre(place(0, 0)));
  EXPECT_THAT(loops[1].follows, ElementsAre(place(1, 0), place(2, 0)));
  EXPECT_THAT(loops[2].follows, ElementsAre(place(0, 2, 1, {-1, 2})));
  EXPECT_THAT(loops[3].follows, ElementsAre(place(0, 3, 2, {-1, 2})));
  EXPECT_THAT(loops[4].follows, ElementsAre(place(0, 1), place(1, 1)));
  EXPECT_THAT(loops[4].joined, ElementsAre(Joined::kSum));
  EXPECT_THAT(loops[4].once, ElementsAre(2));  // the bias
}

TEST(Loops, GroupsAreALoopOfTheirOwn) {
  const auto one =
      one_node("x: f32[2, 8, 5, 5]  w: f32[12, 2, 1, 1]", "conv(x, w; group=4)", 1, {1});
  EXPECT_EQ(loops_of(one), "S2 P4 P3 S5 S5 R2");
  EXPECT_THAT(one.space.loops[1].outputs, ElementsAre(place(0, 1, 3, {0, 3})));
  EXPECT_THAT(one.space.loops[1].follows,
              ElementsAre(place(0, 1, 2, {0, 2}), place(1, 0, 3, {0, 3})));
  EXPECT_THAT(one.space.loops[2].follows, ElementsAre(place(1, 0, 1, {0, 1}, 3)));
}

TEST(Loops, TransposedConvolutionReadsAFractionOfItsInput) {
  const auto one = one_node("x: f32[1, 2, 4]  w: f32[2, 3, 3]",
                            "conv_transpose(x, w; strides=[3], dilations=[1], pads=[0, 0])");
  EXPECT_THAT(one.space.loops[1].follows, ElementsAre(place(0, 2, 1, {-2, 1}, 0, 3)));
}

TEST(Loops, MatmulWithWeightAndWithout) {
  EXPECT_EQ(loops_of(one_node("a: f32[8, 16]  b: f32[16, 4]", "matmul(a, b)", 1, {1})),
            "S8 P4 R16");
  EXPECT_EQ(loops_of(one_node("a: f32[2, 8, 16]  b: f32[2, 16, 4]", "matmul(a, b)")),
            "S2 A8 A4 R16");
}

TEST(Loops, ReshapeHasTheDigitsOfBothSides) {
  const auto merged = one_node("x: f32[8, 128, 12, 64]", "reshape(x; shape=[1024, 768])");
  EXPECT_EQ(loops_of(merged), "S8 S128 S12 S64");
  EXPECT_THAT(merged.space.loops[1].outputs, ElementsAre(place(0, 0, 1, {0, 1}, 128)));
  EXPECT_THAT(merged.space.loops[2].outputs, ElementsAre(place(0, 1, 64, {0, 64})));
  // 6·4 and 4·6 have digits 2 at both ends; between them rows of one are pieces of rows of the
  // other.
  EXPECT_EQ(loops_of(one_node("x: f32[6, 4]", "reshape(x; shape=[4, 6])")), "S2 A2 A3 S2");
  EXPECT_EQ(loops_of(one_node("x: f32[5, 3]", "reshape(x; shape=[3, 5])")), "A3 A5");
}

TEST(Loops, EqualPiecesAreCutAlike) {
  const auto split = one_node("x: f32[2, 12]", "split(x; axis=1, sizes=[4, 4, 4])", 3);
  EXPECT_EQ(loops_of(split), "S2 S4");
  EXPECT_THAT(split.space.loops[1].outputs, ElementsAre(place(0, 1), place(1, 1), place(2, 1)));
  EXPECT_THAT(split.space.loops[1].follows, ElementsAre(place(0, 1, 1, {0, 1}, 4)));
  const auto concat =
      one_node("x: f32[2, 4]  y: f32[2, 4]  z: f32[2, 4]", "concat(x, y, z; axis=1)");
  EXPECT_EQ(loops_of(concat), "S2 A3 S4");
  EXPECT_THAT(concat.space.loops[2].follows, ElementsAre(place(0, 1), place(1, 1), place(2, 1)));
}

TEST(Loops, UnequalPiecesAreNoDigits) {
  EXPECT_EQ(loops_of(one_node("x: f32[2, 6]", "split(x; axis=1, sizes=[1, 3, 2])", 3)), "S2");
  EXPECT_EQ(
      loops_of(one_node("x: f32[3, 4]  y: f32[3, 4]  z: f32[3, 8]", "concat(x, y, z; axis=1)")),
      "S3 A16");
}

TEST(Loops, NormalizationsJoinStagesInBetween) {
  const auto softmax = one_node("x: f32[3, 4]", "softmax(x; axis=1)");
  EXPECT_EQ(loops_of(softmax), "S3 W4");
  EXPECT_THAT(softmax.space.loops[1].between,
              ElementsAre(StageJoin{0, Joined::kMax, 3}, StageJoin{1, Joined::kSum, 3}));
  EXPECT_TRUE(softmax.space.loops[1].is_index());
  const auto norm = one_node("x: f32[3, 4]  s: f32[4]", "layer_norm(x, s; axis=1)", 1, {1});
  EXPECT_EQ(loops_of(norm), "S3 W4");
  EXPECT_THAT(norm.space.loops[1].between,
              ElementsAre(StageJoin{0, Joined::kSum, 3}, StageJoin{1, Joined::kSum, 3}));
  EXPECT_EQ(loops_of(one_node("x: f32[3, 4, 5]  s: f32[4]  b: f32[4]  m: f32[4]  v: f32[4]",
                              "batch_norm(x, s, b, m, v)", 1, {1, 2, 3, 4})),
            "S3 P4 S5");
}

TEST(Loops, MaximaMinimaAndMeans) {
  const auto joined = [](const char* call) {
    return one_node("x: f32[3, 4]", call).space.loops[1].joined[0];
  };
  EXPECT_EQ(joined("reduce_max(x; axes=[1])"), Joined::kMax);
  EXPECT_EQ(joined("reduce_min(x; axes=[1])"), Joined::kMin);
  EXPECT_EQ(joined("reduce_mean(x; axes=[1])"), Joined::kSum);
  // A window may see padding alone in some part.
  EXPECT_EQ(loops_of(one_node("x: f32[3, 4, 6, 6]", "max_pool(x; kernel=[2, 2])")), "S3 S4 A5 A5");
}

TEST(Loops, TablesAreCutAlongTheRowsThatIndicesSelect) {
  const auto one = one_node("x: f32[9, 5]  i: i64[4]", "gather(x, i; axis=0)", 1, {0});
  EXPECT_EQ(loops_of(one), "S4 P5 R9");
  EXPECT_THAT(one.space.loops[2].follows, ElementsAre(place(0, 0)));
}

TEST(Loops, SelectionByPositionIsNoSumOfParts) {
  EXPECT_EQ(loops_of(one_node("x: f32[2, 5]", "cumsum(x; axis=1)")), "S2 A5");
  EXPECT_EQ(loops_of(one_node("x: f32[1, 1, 4, 4]", "resize(x; up=[1, 1, 2, 2], mode=\"linear\")")),
            "A8 A8");
}

TEST(Loops, NoneOfWhatNobodyKnows) {
  core::GraphBuilder builder;
  const core::TensorType type{test::kF32, core::to_shape({2, 3}), true};
  const auto x = builder.add_input("x", type);
  builder.set_outputs(builder.add_node(opaque_schema(), {}, {x}, {type}));
  const core::Graph graph = std::move(builder).finish().value();
  EXPECT_THAT(partition_space(graph, graph.order()[0], {}).loops, IsEmpty());
  EXPECT_THAT(
      one_node("x: f32[5]", "slice(x; axes=[0], starts=[0], sizes=[0], steps=[1])").space.loops,
      IsEmpty());
}

TEST(Loops, EqualNodesShareOneAnalysis) {
  const auto graph = test::parse("graph g\n  x: f32[4, 4]\n  w: f32[4, 4]\n  a = matmul(x, w)\n"
                                 "  b = matmul(a, w)\n  c = matmul(b, a)\n  return c\n")
                         .value();
  std::vector<bool> is_weight(graph.tensor_bound());
  is_weight[graph.inputs()[1].index()] = true;
  const auto spaces = partition_spaces(graph, is_weight);
  const auto& order = graph.order();
  EXPECT_EQ(spaces[order[0].index()].digits, spaces[order[1].index()].digits);
  EXPECT_EQ(spaces[order[1].index()].loops[1].role, DimRole::kParameter);
  EXPECT_EQ(spaces[order[2].index()].loops[1].role, DimRole::kAttribute);
}

}  // namespace
}  // namespace soapstone::ops
