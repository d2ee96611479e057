// Gradients are cut like other operators: their loops follow from the solved index equations of
// their comprehensions.
#include <gmock/gmock.h>

#include "ops/gradients/append_gradient.h"
#include "tests/ops/partition/one_node.h"

namespace soapstone::ops {
namespace {

using test::OneNode;
using test::OpExample;

/// `16 4 8+`: sizes of the loops, with + where parts are summands.
std::string sizes_of(const OneNode& one) {
  std::string text;
  for (const Loop& loop : one.space.loops)
    text += (text.empty() ? "" : " ") + std::to_string(loop.size) +
            (loop.joined[0] == Joined::kSum ? "+"
             : loop.is_index()              ? ""
                                            : "?");
  return text;
}

TEST(GradientLoops, OfMatmulCutTheSumOverRowsOfItsWeight) {
  const auto by_weight =
      test::one_node("a: f32[8, 16]  d: f32[8, 4]",
                     "matmul_grad(a, _, d; of_input=1, input_shapes=[2, 8, 16, 2, 16, 4])");
  EXPECT_EQ(sizes_of(by_weight), "16 4 8+");
  const auto by_data =
      test::one_node("b: f32[16, 4]  d: f32[8, 4]",
                     "matmul_grad(_, b, d; of_input=0, input_shapes=[2, 8, 16, 2, 16, 4])");
  EXPECT_EQ(sizes_of(by_data), "8 16 4+");
}

TEST(GradientLoops, OfConvolutionCutTheSumOverSamplesOfItsKernel) {
  const auto by_kernel = test::one_node("x: f32[2, 6, 8, 9]  d: f32[2, 4, 8, 9]",
                                        "conv_grad(x, _, d; pads=[1, 1, 1, 1], of_input=1, "
                                        "input_shapes=[4, 2, 6, 8, 9, 4, 4, 6, 3, 3])");
  const auto& loops = by_kernel.space.loops;
  ASSERT_GE(loops.size(), 5u);
  EXPECT_EQ(loops[0].size, 4);
  EXPECT_EQ(loops[1].size, 6);
  const auto samples = std::ranges::find_if(
      loops, [](const Loop& loop) { return loop.joined[0] == Joined::kSum && loop.size == 2; });
  ASSERT_NE(samples, loops.end());
  EXPECT_EQ(samples->follows.size(), 2u);
}

/// A gradient alone in its graph. None: it is 0 everywhere, or moves the cotangent.
std::optional<OneNode> gradient_node(const OpExample& example, std::size_t input) {
  const core::Graph forward = test::graph_of(example.inputs, example.call, example.result_count());
  const core::Node& node = forward.node(forward.order()[0]);
  const auto is_real = [&](core::TensorId t) {
    return core::is_floating(forward.tensor(t).type.data_type);
  };
  if (!is_real(node.outputs[0]) || !is_real(node.inputs[input])) return std::nullopt;
  core::GraphBuilder builder(forward);
  std::vector<core::TensorId> cotangents;
  for (const core::TensorId t : node.outputs)
    cotangents.push_back(builder.add_input("d", forward.tensor(t).type));
  const auto result = append_gradient(builder, node, input, cotangents);
  if (!result.valid()) return std::nullopt;
  builder.set_outputs({result});
  core::Graph graph = std::move(builder).finish().value();
  if (graph.order().empty()) return std::nullopt;
  const core::NodeId id = graph.order()[0];
  PartitionSpace space =
      partition_space(graph, id, std::vector<bool>(graph.node(id).inputs.size()));
  return OneNode{std::move(graph), id, std::move(space)};
}

class GradientExample : public ::testing::TestWithParam<OpExample> {};

TEST_P(GradientExample, PartsDoTheWorkOfTheWhole) {
  for (std::size_t input = 0; input < 6; ++input) {
    if (test::graph_of(GetParam().inputs, GetParam().call, GetParam().result_count())
            .inputs()
            .size() <= input)
      break;
    const auto one = gradient_node(GetParam(), input);
    if (!one || one->space.loops.empty()) continue;
    SCOPED_TRACE(core::print(one->graph));
    const Work whole = work_of(one->graph, one->node);
    EXPECT_DOUBLE_EQ(work_of_part(one->graph, one->node, one->space, whole_box(one->space)).flops,
                     whole.flops);
    for (std::size_t l = 0; l < one->space.loops.size(); ++l) {
      const auto cuts = test::cuts_of(one->space.loops[l].size);
      double flops = 0;
      for (const Interval& part : cuts.front())
        flops += work_of_part(one->graph, one->node, one->space, test::part_of(one->space, l, part))
                     .flops;
      EXPECT_GE(flops, whole.flops * (1 - 1e-9)) << "loop " << l;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GradientExample, ::testing::ValuesIn(test::op_examples()),
                         test::example_name);

}  // namespace
}  // namespace soapstone::ops
