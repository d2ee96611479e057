// Gradients have loops like any operator: the gradient of a weight is a sum over the batch.
#include <gtest/gtest.h>

#include "ops/gradients/append_gradient.h"
#include "tests/ops/partition/parts_in_field.h"

namespace soapstone::ops {
namespace {

using test::FieldValues;
using test::Outcome;

/// A gradient node by itself.
struct Gradient {
  core::Graph graph;
  core::NodeId node;
};

std::optional<Gradient> gradient_of_input(const core::Graph& forward, std::size_t input) {
  core::GraphBuilder builder(forward);
  const core::Node& node = forward.node(forward.order()[0]);
  std::vector<core::TensorId> cotangents;
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    cotangents.push_back(
        builder.add_input("dy" + std::to_string(k), forward.tensor(node.outputs[k]).type));
  const core::TensorId result = append_gradient(builder, node, input, cotangents);
  if (!result.valid()) return std::nullopt;
  builder.set_outputs({result});
  core::Graph graph = std::move(builder).finish().value();
  if (graph.order().size() != 1) return std::nullopt;
  const core::NodeId id = graph.order()[0];
  return Gradient{std::move(graph), id};
}

struct GradientCounts {
  int equal = 0, refused = 0;
};

/// Cuts every loop; parts that are given must be right.
GradientCounts cut_all(const Gradient& gradient) {
  const auto space = partition_space(gradient.graph, gradient.node, {});
  std::mt19937_64 random(5);
  std::map<core::TensorId, FieldValues> given;
  std::vector<FieldValues> arguments, inputs;
  for (core::TensorId id : gradient.graph.inputs()) {
    given[id] = test::field_values(gradient.graph.tensor(id).type, random);
    arguments.push_back(given[id]);
  }
  for (core::TensorId id : gradient.graph.node(gradient.node).inputs)
    inputs.push_back(id.valid() ? given[id] : FieldValues());
  const auto whole = evaluate_graph<Field::Value>(gradient.graph, arguments);
  EXPECT_TRUE(whole.ok());
  GradientCounts counts;
  for (std::size_t l = 0; l < space.loops.size(); ++l)
    for (const auto& cut : test::cuts_of(space.loops[l].size)) {
      std::string message;
      const Outcome outcome = test::compare_parts(gradient.graph, gradient.node, space, {{l, cut}},
                                                  inputs, *whole, message);
      EXPECT_NE(outcome, Outcome::kUnequal)
          << core::print(gradient.graph) << "loop " << l << ": " << message;
      counts.equal += outcome == Outcome::kEqual;
      counts.refused += outcome == Outcome::kRefused;
    }
  return counts;
}

class GradientPart : public ::testing::TestWithParam<test::OpExample> {};

TEST_P(GradientPart, PutTogetherAreTheWhole) {
  const core::Graph forward =
      test::graph_of(GetParam().inputs, GetParam().call, GetParam().result_count());
  const core::Node& node = forward.node(forward.order()[0]);
  const auto is_real = [&](core::TensorId t) {
    return core::is_floating(forward.tensor(t).type.data_type);
  };
  if (!is_real(node.outputs[0])) return;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!is_real(node.inputs[k])) continue;
    const auto gradient = gradient_of_input(forward, k);
    if (!gradient) continue;
    const GradientCounts counts = cut_all(*gradient);
    RecordProperty("equal" + std::to_string(k), counts.equal);
    RecordProperty("refused" + std::to_string(k), counts.refused);
  }
}

/// All cuts of the gradient give parts, which are right.
void expect_all_given(const char* inputs, const char* call, std::size_t input) {
  const auto gradient = gradient_of_input(test::graph_of(inputs, call), input);
  ASSERT_TRUE(gradient);
  const GradientCounts counts = cut_all(*gradient);
  EXPECT_GT(counts.equal, 0) << call;
  EXPECT_EQ(counts.refused, 0) << call;
}

TEST(GradientParts, OfAMatmulAndOfActivations) {
  for (std::size_t input : {0, 1}) {
    expect_all_given("a: f32[4, 3]  b: f32[3, 5]", "matmul(a, b)", input);
    expect_all_given("a: f32[2, 4, 3]  b: f32[3, 5]", "matmul(a, b)", input);
    expect_all_given("a: f32[2, 3]  b: f32[4, 2, 3]", "mul(a, b)", input);
  }
  expect_all_given("x: f32[4, 6]", "gelu(x)", 0);
  expect_all_given("x: f32[4, 6]", "reduce_mean(x; axes=[1])", 0);
}

TEST(GradientParts, OfAConvolutionSplitInSpace) {
  const auto by_weight = gradient_of_input(
      test::graph_of("x: f32[2, 3, 6, 6]  w: f32[4, 3, 3, 3]", "conv(x, w; pads=[1, 1, 1, 1])"), 1);
  const auto space = partition_space(by_weight->graph, by_weight->node, {});
  // The gradient of the weight is a sum over batch, rows and columns; each part reads a halo of x.
  std::size_t rows = 0;
  while (rows < space.loops.size() &&
         (space.loops[rows].joined[0] != Joined::kSum || space.loops[rows].size != 6))
    ++rows;
  ASSERT_LT(rows, space.loops.size());
  const auto part =
      restrict_to(by_weight->graph, by_weight->node, space, test::part_of(space, rows, {0, 3}));
  ASSERT_TRUE(part.ok()) << part.error().to_string();
  EXPECT_EQ(part->regions.inputs[0].extents(), (core::Dims{2, 3, 4, 6}));
  const GradientCounts counts = cut_all(*by_weight);
  EXPECT_GT(counts.equal, counts.refused);
  const auto by_data = gradient_of_input(
      test::graph_of("x: f32[2, 3, 6, 6]  w: f32[4, 3, 3, 3]", "conv(x, w; pads=[1, 1, 1, 1])"), 0);
  EXPECT_GT(cut_all(*by_data).equal, 8);
}

INSTANTIATE_TEST_SUITE_P(All, GradientPart, ::testing::ValuesIn(test::op_examples()),
                         test::example_name);

}  // namespace
}  // namespace soapstone::ops
