// Regions of parts are compared with the reads that an interpreter really makes.
#include "ops/partition/part_regions.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/ops/brute_force.h"
#include "tests/ops/partition/one_node.h"

namespace soapstone::ops {
namespace {

using core::Dims;
using test::one_node;
using test::OneNode;

std::set<std::int64_t> positions(const DigitRegion& region, const Dims& dims) {
  std::set<std::int64_t> all;
  if (!region.is_empty()) all.insert(0);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::set<std::int64_t> finer;
    for (std::int64_t p : all)
      for (const Interval& piece : region.intervals(d))
        for (std::int64_t i = piece.low; i < piece.high; ++i) finer.insert(p * dims[d] + i);
    all = finer;
  }
  return all;
}

TEST(DigitRegions, EqualSetsAreEqual) {
  using Digits = std::vector<std::vector<DigitInterval>>;
  const DigitRegion outer(Digits{{{3, {1, 2}}, {4, {0, 4}}}}), box(Digits{{{12, {4, 8}}}});
  EXPECT_EQ(outer, box);
  EXPECT_TRUE(outer.is_box());
  const DigitRegion inner(Digits{{{3, {0, 3}}, {4, {1, 3}}}});
  EXPECT_FALSE(inner.is_box());
  EXPECT_EQ(inner.intervals(0), (std::vector<Interval>{{1, 3}, {5, 7}, {9, 11}}));
  EXPECT_EQ(inner.element_count(), 6);
  EXPECT_EQ(common_elements(inner, box), 2);
  EXPECT_EQ(inner.hull(), (std::vector<Interval>{{1, 11}}));
  EXPECT_TRUE(DigitRegion::none({}).is_empty());
  EXPECT_EQ(DigitRegion::whole({}).element_count(), 1);
}

TEST(PartRegions, ConvolutionHalo) {
  const auto one =
      one_node("x: f32[2, 3, 8, 8]  w: f32[4, 3, 3, 3]", "conv(x, w; pads=[1, 1, 1, 1])");
  const auto regions =
      part_regions(one.space, {{0, 1}, {2, 4}, {0, 1}, {4, 8}, {0, 3}, {0, 3}, {0, 3}});
  EXPECT_EQ(regions.inputs[0].hull(), (std::vector<Interval>{{0, 1}, {0, 3}, {0, 2}, {3, 8}}));
  // Whole, though the first row of the kernel sees padding alone.
  EXPECT_EQ(regions.inputs[1].hull(), (std::vector<Interval>{{2, 4}, {0, 3}, {0, 3}, {0, 3}}));
}

TEST(PartRegions, UnreadInputsAreEmpty) {
  const auto one = one_node("x: f32[2, 3]  y: f32[2, 5]", "concat(x, y; axis=1)");
  const auto regions = part_regions(one.space, {{0, 2}, {4, 7}});
  EXPECT_TRUE(regions.inputs[0].is_empty());
  EXPECT_EQ(regions.inputs[1].hull(), (std::vector<Interval>{{0, 2}, {1, 4}}));
}

TEST(PartRegions, OnlyTheFirstPartOfASumAddsTheBias) {
  const auto one = one_node("x: f32[1, 4, 2]  w: f32[3, 4, 1]  b: f32[3]",
                            "conv(x, w, b; strides=[1], dilations=[1], pads=[0, 0])");
  const PartBox first{{0, 3}, {0, 2}, {0, 2}}, second{{0, 3}, {0, 2}, {2, 4}};
  EXPECT_FALSE(part_regions(one.space, first).inputs[2].is_empty());
  EXPECT_TRUE(part_regions(one.space, second).inputs[2].is_empty());
}

TEST(PartRegions, WorkOfPartsOfAConvolution) {
  const auto one = one_node("x: f32[2, 4, 8, 8]  w: f32[6, 4, 3, 3]", "conv(x, w)");
  const Work whole = work_of(one.graph, one.node);
  EXPECT_EQ(work_of_part(one.graph, one.node, one.space, whole_box(one.space)).flops, whole.flops);
  for (std::size_t l = 0; l < 5; ++l) {
    const std::int64_t half = one.space.loops[l].size / 2;
    const Work part =
        work_of_part(one.graph, one.node, one.space, test::part_of(one.space, l, {0, half}));
    EXPECT_EQ(part.flops, whole.flops / 2) << l;
    EXPECT_LT(part.bytes_read, whole.bytes_read) << l;
  }
}

class RegionExample : public ::testing::TestWithParam<test::OpExample> {};

/// Elements of the inputs that the part's elements depend on.
std::vector<std::set<std::int64_t>> reads_of(const OneNode& one, const PartRegions& regions) {
  std::vector<std::vector<double>> values;
  for (const Dims& d : one.input_dims())
    values.emplace_back(static_cast<std::size_t>(core::element_count(d)), 1.0);
  const Semantics semantics = semantics_of(one.graph, one.node);
  const brute_force::Interpreter<double> trace(semantics, one.input_dims(), values,
                                               brute_force::doubles());
  std::vector<std::set<std::int64_t>> reads(values.size());
  for (std::size_t k = 0; k < regions.outputs.size(); ++k)
    for (std::int64_t position : positions(regions.outputs[k], one.output_dims(k)))
      for (const auto& [tensor, read] : trace.depends_on(k, position)) reads[tensor].insert(read);
  return reads;
}

/// The smallest box around positions.
std::vector<Interval> hull_of(const std::set<std::int64_t>& positions, const Dims& dims) {
  std::vector<Interval> hull(dims.size(), {INT64_MAX, 0});
  for (std::int64_t p : positions)
    for (std::size_t d = dims.size(); d-- > 0; p /= dims[d])
      hull[d] = {std::min(hull[d].low, p % dims[d]), std::max(hull[d].high, p % dims[d] + 1)};
  return hull;
}

TEST_P(RegionExample, CoverAllReadsAndAreTight) {
  const auto one = one_node(GetParam());
  for (std::size_t l = 0; l < one.space.loops.size(); ++l) {
    const Loop& loop = one.space.loops[l];
    if (!loop.is_index() || !loop.between.empty()) continue;
    for (const auto& cut : test::cuts_of(loop.size))
      for (const Interval& values : cut) {
        const auto regions = part_regions(one.space, test::part_of(one.space, l, values));
        const auto reads = reads_of(one, regions);
        for (std::size_t k = 0; k < reads.size(); ++k) {
          const Dims dims = one.input_dims()[k];
          const auto covered = positions(regions.inputs[k], dims);
          EXPECT_TRUE(std::ranges::includes(covered, reads[k])) << "loop " << l << " input " << k;
          // Only a window's elements that see padding alone may be more.
          if (reads[k].empty() || GetParam().op().starts_with("conv")) continue;
          EXPECT_EQ(regions.inputs[k].hull(), hull_of(reads[k], dims))
              << "loop " << l << " [" << values.low << ", " << values.high << ") input " << k;
        }
      }
  }
}

TEST_P(RegionExample, PartsWriteEveryElementOnce) {
  const auto one = one_node(GetParam());
  for (std::size_t l = 0; l < one.space.loops.size(); ++l)
    for (const auto& cut : test::cuts_of(one.space.loops[l].size))
      for (std::size_t k = 0; k < one.graph.node(one.node).outputs.size(); ++k) {
        std::set<std::int64_t> written;
        std::size_t count = 0;
        for (const Interval& values : cut) {
          const auto regions = part_regions(one.space, test::part_of(one.space, l, values));
          const auto part = positions(regions.outputs[k], one.output_dims(k));
          written.insert(part.begin(), part.end());
          count += part.size();
        }
        const auto all = static_cast<std::size_t>(core::element_count(one.output_dims(k)));
        EXPECT_EQ(written.size(), all);
        EXPECT_EQ(count, one.space.loops[l].joined[k] == Joined::kIndex ? all : all * cut.size());
      }
}

INSTANTIATE_TEST_SUITE_P(All, RegionExample, ::testing::ValuesIn(test::op_examples()),
                         test::example_name);

}  // namespace
}  // namespace soapstone::ops
