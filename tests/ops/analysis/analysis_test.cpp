// Work, input regions and partition roles. Regions are compared with the reads that an interpreter
// really makes.
#include "ops/analysis/analysis.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/definition/registry.h"
#include "tests/ops/brute_force.h"

namespace soapstone::ops {
namespace {

using core::Attributes;
using core::Dims;
using core::Polynomial;
using core::Size;

struct OneNode {
  core::Graph graph;
  core::NodeId node;
};

std::vector<Size> sizes(std::initializer_list<std::int64_t> list) {
  return {list.begin(), list.end()};
}

OneNode make(std::string_view op, const std::vector<Dims>& inputs,
             const Attributes& attributes = {}) {
  core::GraphBuilder builder;
  std::vector<core::TensorId> ids;
  for (const Dims& d : inputs) {
    const bool is_index = op == "gather" && ids.size() == 1;
    const auto type = is_index ? core::DataType::kInt64 : core::DataType::kFloat32;
    ids.push_back(
        builder.add_input("x" + std::to_string(ids.size()), {type, core::to_shape(d), true}));
  }
  auto outputs = append(builder, op, ids, attributes);
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().to_string());
  builder.set_outputs(*outputs);
  core::Graph graph = std::move(builder).finish().value();
  const core::NodeId node = graph.order()[0];
  return {std::move(graph), node};
}

TEST(Work, ConvolutionAndMatmulCountAsInTheLiterature) {
  const auto conv = make("conv", {{1, 8, 10, 10}, {16, 8, 3, 3}}, {{"pads", sizes({1, 1, 1, 1})}});
  const Work w = work_of(conv.graph, conv.node);
  EXPECT_EQ(w.flops, 2.0 * 16 * 10 * 10 * 8 * 9);
  EXPECT_EQ(w.bytes_read, 4.0 * (800 + 16 * 8 * 9));
  EXPECT_EQ(w.bytes_written, 4.0 * 1600);
  const auto grouped = make("conv", {{1, 8, 10, 10}, {16, 2, 3, 3}},
                            {{"pads", sizes({1, 1, 1, 1})}, {"group", Polynomial(4)}});
  EXPECT_EQ(work_of(grouped.graph, grouped.node).flops, 2.0 * 16 * 10 * 10 * 2 * 9);
  const auto matmul = make("matmul", {{5, 7}, {7, 3}});
  EXPECT_EQ(work_of(matmul.graph, matmul.node).flops, 2.0 * 5 * 7 * 3);
}

TEST(Work, PositionsThatAnEquationExcludesDoNotCount) {
  // Each element of x meets each element of the kernel once.
  const auto transposed = make("conv_transpose", {{1, 8, 10, 10}, {8, 16, 3, 3}},
                               {{"strides", sizes({2, 2})}, {"pads", sizes({1, 1, 1, 1})}});
  EXPECT_DOUBLE_EQ(work_of(transposed.graph, transposed.node).flops, 2.0 * 8 * 100 * 16 * 9);
}

TEST(Work, ElementwiseAndMovement) {
  const auto sub = make("sub", {{4, 5}, {4, 5}});
  EXPECT_EQ(work_of(sub.graph, sub.node).flops, 20);
  const auto relu = make("relu", {{4, 5}});
  EXPECT_EQ(work_of(relu.graph, relu.node).flops, 20);
  const auto transpose = make("transpose", {{4, 5}}, {{"perm", sizes({1, 0})}});
  EXPECT_EQ(work_of(transpose.graph, transpose.node).flops, 20);
  const auto slice = make(
      "slice", {{1000, 5}},
      {{"axes", sizes({0})}, {"starts", sizes({3})}, {"sizes", sizes({4})}, {"steps", sizes({1})}});
  EXPECT_EQ(work_of(slice.graph, slice.node).bytes_read, 4.0 * 20);
  const auto reshape = make("reshape", {{4, 5}}, {{"shape", sizes({20})}});
  EXPECT_EQ(work_of(reshape.graph, reshape.node).flops, 0);
}

TEST(Regions, ConvolutionHalo) {
  const auto conv = make("conv", {{2, 3, 8, 8}, {4, 3, 3, 3}}, {{"pads", sizes({1, 1, 1, 1})}});
  const auto regions = input_regions(conv.graph, conv.node, 0, {{0, 1}, {2, 4}, {0, 4}, {4, 8}});
  EXPECT_EQ(regions[0], (IndexBox{{0, 1}, {0, 3}, {0, 5}, {3, 8}}));
  EXPECT_EQ(regions[1], (IndexBox{{2, 4}, {0, 3}, {0, 3}, {0, 3}}));
}

TEST(Regions, UnreadInputsAreEmpty) {
  const auto concat = make("concat", {{2, 3}, {2, 5}}, {{"axis", Polynomial(1)}});
  const auto regions = input_regions(concat.graph, concat.node, 0, {{0, 2}, {4, 7}});
  EXPECT_EQ(regions[0], (IndexBox{{0, 0}, {0, 0}}));
  EXPECT_EQ(regions[1], (IndexBox{{0, 2}, {1, 4}}));
}

TEST(Regions, ReshapeIsTightForLeadingDimensions) {
  const auto reshape = make("reshape", {{6, 4, 5}}, {{"shape", sizes({2, 3, 20})}});
  EXPECT_EQ(input_regions(reshape.graph, reshape.node, 0, {{1, 2}, {0, 2}, {0, 20}})[0],
            (IndexBox{{3, 5}, {0, 4}, {0, 5}}));
  EXPECT_EQ(input_regions(reshape.graph, reshape.node, 0, {{0, 2}, {0, 3}, {5, 10}})[0],
            (IndexBox{{0, 6}, {1, 2}, {0, 5}}));
}

struct Case {
  std::string_view op;
  std::vector<Dims> inputs;
  Attributes attributes;
};

std::vector<Case> cases() {
  return {
      {"conv",
       {{2, 3, 7, 6}, {4, 3, 3, 2}},
       {{"strides", sizes({2, 1})}, {"pads", sizes({1, 0, 1, 1})}}},
      {"conv",
       {{2, 4, 5, 5}, {6, 2, 3, 3}, {6}},
       {{"group", Polynomial(2)}, {"pads", sizes({1, 1, 1, 1})}}},
      {"max_pool", {{1, 2, 6, 6}}, {{"kernel", sizes({3, 3})}, {"strides", sizes({2, 2})}}},
      {"average_pool", {{1, 2, 6, 6}}, {{"kernel", sizes({3, 3})}, {"pads", sizes({1, 1, 1, 1})}}},
      {"matmul", {{2, 3, 4}, {4, 5}}, {}},
      {"softmax", {{3, 4, 2}}, {{"axis", Polynomial(1)}}},
      {"layer_norm", {{3, 4, 2}, {2}, {2}}, {{"axis", Polynomial(2)}}},
      {"add", {{3, 1, 2}, {4, 1}}, {}},
      {"transpose", {{2, 3, 4}}, {{"perm", sizes({2, 0, 1})}}},
      {"reshape", {{4, 6}}, {{"shape", sizes({2, 12})}}},
      {"reshape", {{2, 3, 4}}, {{"shape", sizes({4, 6})}}},
      {"slice",
       {{9, 4}},
       {{"axes", sizes({0})},
        {"starts", sizes({1})},
        {"sizes", sizes({3})},
        {"steps", sizes({3})}}},
      {"pad", {{3, 4}}, {{"pads", sizes({1, 0, 2, -1})}, {"interior", sizes({1, 0})}}},
      {"concat", {{2, 3}, {2, 1}, {2, 2}}, {{"axis", Polynomial(1)}}},
      {"gather", {{5, 3}, {4}}, {{"axis", Polynomial(0)}}},
      {"reduce_sum", {{3, 4, 5}}, {{"axes", sizes({1})}}},
  };
}

TEST(Regions, CoverAllReadsAndAreTight) {
  std::mt19937 random(7);
  for (const Case& c : cases()) {
    const auto one = make(c.op, c.inputs, c.attributes);
    const Semantics semantics = semantics_of(one.graph, one.node);
    std::vector<std::vector<double>> values;
    for (const Dims& d : c.inputs)
      values.emplace_back(static_cast<std::size_t>(core::element_count(d)), 1.0);
    const brute_force::Interpreter<double> trace(semantics, c.inputs, values,
                                                 brute_force::doubles());
    const Dims out =
        *core::concrete(one.graph.tensor(one.graph.node(one.node).outputs[0]).type.shape);
    for (int trial = 0; trial < 20; ++trial) {
      IndexBox box;
      for (std::int64_t size : out) {
        const auto low = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
        box.push_back({low, low + 1 +
                                static_cast<std::int64_t>(random() %
                                                          static_cast<std::uint64_t>(size - low))});
      }
      const auto regions = input_regions(one.graph, one.node, 0, box);
      std::vector<IndexBox> smallest;
      for (const Dims& d : c.inputs) smallest.emplace_back(d.size(), Interval{0, 0});
      std::vector<bool> seen(c.inputs.size(), false);
      for (std::int64_t flat = 0; flat < core::element_count(out); ++flat) {
        std::int64_t rest = flat;
        bool inside = true;
        for (std::size_t d = out.size(); d-- > 0; rest /= out[d])
          inside &= rest % out[d] >= box[d].low && rest % out[d] < box[d].high;
        if (!inside) continue;
        for (const auto& [tensor, position] : trace.depends_on(0, flat)) {
          std::int64_t p = position;
          for (std::size_t d = c.inputs[tensor].size(); d-- > 0; p /= c.inputs[tensor][d]) {
            const std::int64_t i = p % c.inputs[tensor][d];
            Interval& v = smallest[tensor][d];
            v = seen[tensor] ? Interval{std::min(v.low, i), std::max(v.high, i + 1)}
                             : Interval{i, i + 1};
          }
          seen[tensor] = true;
        }
      }
      for (std::size_t k = 0; k < c.inputs.size(); ++k)
        for (std::size_t d = 0; d < c.inputs[k].size(); ++d) {
          const Interval want = smallest[k][d], got = regions[k][d];
          if (!seen[k]) continue;
          EXPECT_TRUE(got.low <= want.low && got.high >= want.high) << c.op << " input " << k;
          EXPECT_TRUE(got.low >= 0 && got.high <= c.inputs[k][d]) << c.op;
          // Exact but where a position mixes dimensions.
          const bool mixes = c.op == "reshape" || c.attributes.find("group");
          EXPECT_TRUE(mixes || got == want) << c.op << " input " << k << " dim " << d;
        }
    }
  }
}

std::vector<DimRole> roles(const OneNode& one, const std::vector<bool>& is_weight) {
  std::vector<DimRole> result;
  for (const DimInfo& i : partition_roles(one.graph, one.node, is_weight)) result.push_back(i.role);
  return result;
}

constexpr DimRole kS = DimRole::kSample, kA = DimRole::kAttribute, kP = DimRole::kParameter,
                  kR = DimRole::kReduction, kW = DimRole::kWhole;

TEST(Roles, Convolution) {
  const auto one = make("conv", {{1, 3, 8, 8}, {4, 3, 3, 3}, {4}}, {{"pads", sizes({1, 1, 1, 1})}});
  const auto infos = partition_roles(one.graph, one.node, {false, true, true});
  ASSERT_EQ(infos.size(), 5u);
  EXPECT_EQ(roles(one, {false, true, true}), (std::vector<DimRole>{kS, kP, kA, kA, kR}));
  EXPECT_EQ(infos[0].input_dim[0], 0u);
  EXPECT_EQ(infos[1].input_dim[1], 0u);
  EXPECT_EQ(infos[1].input_dim[2], 0u);
  EXPECT_FALSE(infos[1].input_dim[0]);
  EXPECT_EQ(infos[2].input_dim[0], 2u);
  EXPECT_EQ(infos[4].size, 3);
  EXPECT_FALSE(infos[4].output_dim);
  EXPECT_EQ(infos[4].input_dim[0], 1u);
  EXPECT_EQ(infos[4].input_dim[1], 1u);
}

TEST(Roles, MatmulWithWeightAndWithout) {
  const auto dense = make("matmul", {{8, 16}, {16, 4}});
  EXPECT_EQ(roles(dense, {false, true}), (std::vector<DimRole>{kS, kP, kR}));
  const auto batched = make("matmul", {{2, 8, 16}, {2, 16, 4}});
  EXPECT_EQ(roles(batched, {false, false}), (std::vector<DimRole>{kS, kA, kA, kR}));
}

TEST(Roles, NormalizationsNeedTheirAxisWhole) {
  EXPECT_EQ(roles(make("softmax", {{3, 4}}, {{"axis", Polynomial(1)}}), {false}),
            (std::vector<DimRole>{kS, kW}));
  EXPECT_EQ(
      roles(make("layer_norm", {{3, 4}, {4}, {4}}, {{"axis", Polynomial(1)}}), {false, true, true}),
      (std::vector<DimRole>{kS, kW}));
  EXPECT_EQ(
      roles(make("batch_norm", {{3, 4, 5}, {4}, {4}, {4}, {4}}), {false, true, true, true, true}),
      (std::vector<DimRole>{kS, kP, kS}));
}

TEST(Roles, OthersAndReductions) {
  EXPECT_EQ(roles(make("add", {{3, 4}, {4}}), {false, true}), (std::vector<DimRole>{kS, kP}));
  EXPECT_EQ(roles(make("relu", {{3, 4}}), {false}), (std::vector<DimRole>{kS, kS}));
  EXPECT_EQ(roles(make("concat", {{3, 4}, {3, 5}}, {{"axis", Polynomial(1)}}), {false, false}),
            (std::vector<DimRole>{kS, kA}));
  EXPECT_EQ(
      roles(make("reduce_sum", {{3, 4, 5}}, {{"axes", sizes({1})}, {"keep_dims", Polynomial(0)}}),
            {false}),
      (std::vector<DimRole>{kS, kS, kR}));
  EXPECT_EQ(roles(make("global_average_pool", {{3, 4, 5, 6}}), {false}),
            (std::vector<DimRole>{kS, kS, kA, kA, kR, kR}));
  EXPECT_EQ(roles(make("max_pool", {{3, 4, 6, 6}}, {{"kernel", sizes({2, 2})}}), {false}),
            (std::vector<DimRole>{kS, kS, kA, kA}));
  EXPECT_EQ(roles(make("reshape", {{3, 4, 5}}, {{"shape", sizes({3, 20})}}), {false}),
            (std::vector<DimRole>{kS, kA}));
  EXPECT_EQ(roles(make("gather", {{9, 5}, {4}}, {{"axis", Polynomial(0)}}), {true, false}),
            (std::vector<DimRole>{kS, kP, kR}));
}

}  // namespace
}  // namespace soapstone::ops
