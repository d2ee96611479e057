// Gradients as nodes of graphs: built, written as text and read back, refused, run and counted.
#include <gtest/gtest.h>

#include "ops/gradients/append_gradient.h"
#include "ops/gradients/gradient_operator.h"

#include "ops/analysis/analysis.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using core::TensorId;

/// A node and its gradient by one input. The cotangents are inputs of the graph.
struct WithGradient {
  WithGradient(const core::Graph& forward, std::size_t input) {
    core::GraphBuilder builder(forward);
    const core::Node& node = forward.node(forward.order()[0]);
    std::vector<TensorId> cotangents;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      cotangents.push_back(
          builder.add_input("dy" + std::to_string(k), forward.tensor(node.outputs[k]).type));
    result = append_gradient(builder, builder.node(forward.order()[0]), input, cotangents);
    if (!result.valid()) return;
    builder.set_outputs({result});
    graph = std::move(builder).finish().value();
    if (!graph.order().empty()) node_id = graph.order()[0];
  }

  const core::Node& node() const { return graph.node(node_id); }
  double flops() const { return work_of(graph, node_id).flops; }

  core::Graph graph;
  TensorId result;
  core::NodeId node_id;
};

WithGradient gradient(const std::string& inputs, const std::string& call, std::size_t input) {
  return {graph_of(inputs, call), input};
}

bool is_real(const core::Graph& graph, TensorId t) {
  return core::is_floating(graph.tensor(t).type.data_type);
}

class EveryGradient : public ::testing::TestWithParam<OpExample> {};

TEST_P(EveryGradient, SurvivesTextAndRuns) {
  const OpExample& example = GetParam();
  const core::Graph forward = graph_of(example.inputs, example.call, example.result_count());
  const core::Node& node = forward.node(forward.order()[0]);
  if (!is_real(forward, node.outputs[0])) return;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!is_real(forward, node.inputs[k])) continue;
    SCOPED_TRACE(k);
    const WithGradient with(forward, k);
    if (!with.result.valid()) continue;  // 0 everywhere
    EXPECT_EQ(with.graph.tensor(with.result).type, forward.tensor(node.inputs[k]).type);
    const std::string text = core::print(with.graph);
    const auto back = parse(text);
    ASSERT_TRUE(back.ok()) << back.error().to_string() << text;
    EXPECT_EQ(back->hash(), with.graph.hash());
    EXPECT_EQ(core::print(*back), text);
    const auto inputs = random_inputs(with.graph, 7, example.positive);
    EXPECT_EQ(run(with.graph, inputs), run(*back, inputs));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryGradient, ::testing::ValuesIn(op_examples()), example_name);

TEST(Gradient, IsFoundByNameAndNotListed) {
  EXPECT_NE(registry().find("conv_grad"), nullptr);
  EXPECT_EQ(registry().find("full_grad"), nullptr);
  for (const auto& op : registry().all()) EXPECT_FALSE(op->name.ends_with("_grad")) << op->name;
}

TEST(Gradient, LeavesOutWhatItDoesNotRead) {
  const auto matmul = gradient("a: f32[2, 3]  b: f32[3, 4]", "matmul(a, b)", 0);
  EXPECT_FALSE(matmul.node().inputs[0].valid());
  EXPECT_TRUE(matmul.node().inputs[1].valid());
  const Work work = work_of(matmul.graph, matmul.node_id);
  EXPECT_EQ(work.bytes_read, 4.0 * (12 + 8));
  EXPECT_EQ(work.bytes_written, 4.0 * 6);
}

TEST(Gradient, IsTheCotangentWhereItWouldCopyIt) {
  const auto add = gradient("a: f32[2, 3]  b: f32[2, 3]", "add(a, b)", 1);
  EXPECT_TRUE(add.graph.order().empty());
  EXPECT_EQ(add.graph.tensor(add.result).name, "dy0");
  const auto cut = gradient("a: f32[3]", "pad(a; pads=[0, 2])", 0);
  EXPECT_EQ(cut.graph.order().size(), 1u);
}

TEST(Gradient, MovesTheCotangentWhereThatIsAll) {
  const auto transpose = gradient("x: f32[2, 3, 4]", "transpose(x; perm=[2, 0, 1])", 0);
  EXPECT_EQ(transpose.node().op->name, "transpose");
  EXPECT_EQ(transpose.node().attributes.get_ints("perm"), (Ints{1, 2, 0}));
  const auto reshape = gradient("x: f32[2, 3, 4]", "reshape(x; shape=[6, 4])", 0);
  EXPECT_EQ(reshape.node().op->name, "reshape");
  EXPECT_EQ(reshape.node().attributes.get_ints("shape"), (Ints{2, 3, 4}));
  const auto row = gradient("x: f32[1, 3]  b: f32[3]", "add(x, b)", 1);
  EXPECT_EQ(row.node().op->name, "reshape");
  EXPECT_EQ(row.node().attributes.get_ints("shape"), (Ints{3}));
}

TEST(Gradient, IsNoneWhereItWouldBeZero) {
  EXPECT_FALSE(gradient("a: f32[2, 3]", "floor(a)", 0).result.valid());
}

TEST(Gradient, CountsTheWorkOfTheLiterature) {
  const char* matrices = "a: f32[5, 7]  b: f32[7, 3]";
  EXPECT_EQ(gradient(matrices, "matmul(a, b)", 0).flops(), 2.0 * 5 * 7 * 3);
  EXPECT_EQ(gradient(matrices, "matmul(a, b)", 1).flops(), 2.0 * 5 * 7 * 3);
  EXPECT_EQ(gradient("a: f32[4, 5, 7]  b: f32[7, 3]", "matmul(a, b)", 1).flops(),
            2.0 * 4 * 5 * 7 * 3);
  const char* image = "x: f32[2, 8, 10, 10]  w: f32[16, 8, 3, 3]";
  for (const char* call :
       {"conv(x, w; pads=[1, 1, 1, 1])", "conv(x, w; pads=[1, 1, 1, 1], strides=[2, 2])"}) {
    const core::Graph forward = graph_of(image, call);
    const double flops = work_of(forward, forward.order()[0]).flops;
    EXPECT_DOUBLE_EQ(WithGradient(forward, 0).flops(), flops) << call;
    EXPECT_DOUBLE_EQ(WithGradient(forward, 1).flops(), flops) << call;
  }
  const auto grouped = gradient("x: f32[2, 8, 10, 10]  w: f32[16, 4, 3, 3]",
                                "conv(x, w; pads=[1, 1, 1, 1], group=2)", 1);
  EXPECT_DOUBLE_EQ(grouped.flops(), 2.0 * 2 * 16 * 100 * 4 * 9);
  // Each row that was selected is added once, whatever the size of the table; a few more operations
  // an index count negative ones from the end.
  EXPECT_DOUBLE_EQ(gradient("x: f32[1000, 8]  i: i64[5]", "gather(x, i; axis=0)", 0).flops(),
                   5.0 * 8 * 3 + 5 * 3);
}

TEST(Gradient, SaysWhatItIsTheGradientOf) {
  const auto where = gradient("c: bool[3]  a: f32[2, 1]  b: f32[]", "where(c, a, b)", 1);
  const auto of = gradient_of(where.graph, where.node_id);
  ASSERT_TRUE(of.has_value());
  EXPECT_EQ(of->op->name, "where");
  EXPECT_EQ(of->input, 1u);
  ASSERT_EQ(of->inputs.size(), 3u);
  EXPECT_EQ(of->inputs[0].data_type, core::DataType::kBool);
  EXPECT_EQ(of->inputs[2].data_type, kF32);
  const core::Graph forward = graph_of("a: f32[2]", "relu(a)");
  EXPECT_FALSE(gradient_of(forward, forward.order()[0]).has_value());
}

TEST(Gradient, RefusesWhatDoesNotFit) {
  const char* inputs = "a: f32[2, 3]  b: f32[3, 4]  d: f32[2, 4]  e: f64[2, 4]";
  const auto call = [](const char* operands, const char* attributes) {
    return "matmul_grad(" + std::string(operands) + "; " + attributes + ")";
  };
  const struct {
    const char* label;
    const char* operands;
    const char* attributes;
  } cases[] = {
      {"matmul_grad.input_shapes", "_, b, d", "of_input=0, input_shapes=[2, 2, 3, 3, 3, 4]"},
      {"matmul_grad.input_shapes", "_, b, d", "of_input=0, input_shapes=[2, 2, 3, 2, 3, 5]"},
      {"matmul_grad.input_shapes", "_, b", "of_input=0, input_shapes=[2, 2, 3, 2, 3, 4]"},
      {"matmul_grad.of_input", "_, b, d", "of_input=2, input_shapes=[2, 2, 3, 2, 3, 4]"},
      {"matmul_grad.cotangents", "_, b, a", "of_input=0, input_shapes=[2, 2, 3, 2, 3, 4]"},
      {"matmul_grad.cotangents", "_, b, _", "of_input=0, input_shapes=[2, 2, 3, 2, 3, 4]"},
      {"matmul_grad.input_types", "_, b, e", "of_input=0, input_shapes=[2, 2, 3, 2, 3, 4]"},
      {"matmul_grad.input_types", "_, b, d",
       "of_input=0, input_shapes=[2, 2, 3, 2, 3, 4], input_types=\"f32\""},
      {"matmul_grad.inputs", "a, _, d", "of_input=0, input_shapes=[2, 2, 3, 2, 3, 4]"},
      {"matmul.contraction", "_, b, d", "of_input=0, input_shapes=[2, 2, 5, 2, 3, 4]"},
  };
  for (const auto& c : cases) {
    const std::string text = call(c.operands, c.attributes);
    expect_refused({c.label, inputs, text.c_str()});
  }
}

}  // namespace
}  // namespace soapstone::ops::test
