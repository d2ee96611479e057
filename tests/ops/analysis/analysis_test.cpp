// Work and traffic of nodes.
#include "ops/analysis/analysis.h"

#include <gtest/gtest.h>

#include "ops/definition/registry.h"

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

}  // namespace
}  // namespace soapstone::ops
